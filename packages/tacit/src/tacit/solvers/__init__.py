"""Minimisers with certificates: of sums of losses, and of the regularised leader by linear oracles alone."""
