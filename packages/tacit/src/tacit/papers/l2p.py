"""Private Online Learning via Lazy Algorithms (2024): any lazy learner made private."""

from __future__ import annotations

from functools import partial

from tacit.domains import Ball
from tacit.environments import BernoulliGap, LogisticStream
from tacit.losses import LogisticLoss
from tacit.papers.paper import Entry, Paper, Stream
from tacit.papers.run import run_paper
from tacit.problems import Convex, Experts

EXPERTS = Stream(
    "experts",
    lambda horizon, dimension: Experts(n=dimension, horizon=horizon),
    lambda problem, horizon: BernoulliGap(problem.n, horizon),
)
LOGISTIC = Stream(
    "logistic, d=1",
    lambda horizon, dimension: Convex(domain=Ball(1), loss=LogisticLoss(data_norm=1.0), horizon=horizon),
    lambda problem, horizon: LogisticStream(1, horizon),
)

PAPER = Paper(
    name="l2p",
    title="Private Online Learning via Lazy Algorithms",
    authors="Hilal Asi, Tomer Koren, Daogao Liu and Kunal Talwar",
    year=2024,
    venue="NeurIPS 2024",
    link="https://arxiv.org/abs/2406.03620",
    version="the text with Theorems 3.2, 3.10, 3.12 and 4.2",
    says="",
    results=(),
    errata=(),
    streams=(EXPERTS,),
    entries=(
        Entry("printed", "L2P", "experts", "Theorem 3.2"),
        Entry("printed", "L2P", "experts", "Theorem 3.10"),
        Entry("calibrated", "L2P", "experts"),
        Entry("rival", "LazyExperts", "experts"),
        Entry("rival", "HedgeOnSums", "experts", note="paper ctrl, Theorem 15"),
    ),
    horizon=10_000,
    dimension=10,
)
run = partial(run_paper, PAPER)
