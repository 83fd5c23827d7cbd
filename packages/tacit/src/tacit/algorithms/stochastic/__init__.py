"""One private pass over data: online learners, their private conversion, and objective perturbation."""

from tacit.algorithms.stochastic.averaged_ftrl import AveragedFTRL
from tacit.algorithms.stochastic.objective_perturbation.objective_perturbation import ObjectivePerturbation
from tacit.algorithms.stochastic.online_to_batch.betting import BettingGrid, ConfidentBetting
from tacit.algorithms.stochastic.online_to_batch.descent import (
    MirrorDescent,
    OnlineLearner,
    Optimistic,
    StronglyConvex,
    Subgradient,
)
from tacit.algorithms.stochastic.online_to_batch.online_to_batch import OnlineToBatch
from tacit.algorithms.stochastic.private_descent import PrivateDescent

__all__ = [
    "AveragedFTRL",
    "BettingGrid",
    "ConfidentBetting",
    "MirrorDescent",
    "ObjectivePerturbation",
    "OnlineLearner",
    "OnlineToBatch",
    "Optimistic",
    "PrivateDescent",
    "StronglyConvex",
    "Subgradient",
]
