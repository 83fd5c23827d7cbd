"""One private pass over data: online learners, their private conversion, and objective perturbation."""

from tacit.learners.stochastic.averaged_ftrl import AveragedFTRL
from tacit.learners.stochastic.coin_betting import BettingGrid, KrichevskyTrofimov
from tacit.learners.stochastic.common import OnlineLearner
from tacit.learners.stochastic.confident_betting import ConfidentBetting
from tacit.learners.stochastic.mirror_descent import MirrorDescent
from tacit.learners.stochastic.objective_perturbation import ObjectivePerturbation
from tacit.learners.stochastic.online_to_batch import OnlineToBatch
from tacit.learners.stochastic.optimistic import Optimistic
from tacit.learners.stochastic.strongly_convex import StronglyConvex
from tacit.learners.stochastic.subgradient import Subgradient

__all__ = [
    "AveragedFTRL",
    "BettingGrid",
    "ConfidentBetting",
    "KrichevskyTrofimov",
    "MirrorDescent",
    "ObjectivePerturbation",
    "OnlineLearner",
    "OnlineToBatch",
    "Optimistic",
    "StronglyConvex",
    "Subgradient",
]
