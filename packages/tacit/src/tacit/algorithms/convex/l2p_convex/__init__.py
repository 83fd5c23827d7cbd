"""L2P on regularised multiplicative weights over a convex set."""

from tacit.algorithms.convex.l2p_convex.l2p_convex import L2PConvex

__all__ = ["L2PConvex"]
