"""Whose constants a method that minimises or samples may rest its privacy on."""

from __future__ import annotations

from tacit.errors import PrivacyError
from tacit.losses.base import LossFamily
from tacit.losses.bent import DeclaredLoss
from tacit.losses.several import SeveralLinks


def refuse_unchecked(loss: LossFamily, algorithm: str) -> None:
    """Refuse a class from outside of tacit unless its constants were declared on trust."""
    if type(loss) is not DeclaredLoss and not _is_own(loss):
        raise PrivacyError(
            f"{algorithm} promises nothing unless its losses are convex with the constants that they declare, and "
            f"nobody checked those of {loss!r}: make a TabulatedLoss of a link of your own, say trust=True in a "
            "DeclaredLoss, or use PrivateFTRL, which clips gradients."
        )


def _is_own(loss: LossFamily) -> bool:
    """Whether tacit wrote all of it: asked of the classes, since `assumed` may be overridden like everything else."""
    parts = (loss, loss.link) if isinstance(loss, SeveralLinks) else (loss,)
    return all(type(part).__module__.startswith("tacit.") and not part.assumed for part in parts)
