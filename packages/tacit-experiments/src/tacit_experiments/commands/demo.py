"""`tacit demo`: a private experiment on a month of clicks, ending with a picture and the contract."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime
from math import pi, sin
from pathlib import Path
from typing import Annotated, Any

import typer

import tacit
from tacit.cli import options
from tacit.noise.randomness import Randomness
from tacit.report.plots import plot_shares
from tacit_experiments.design import Design
from tacit_experiments.experiments import Experiments
from tacit_experiments.simulated import clicks
from tacit_experiments.store.store import Store

RATES = {"control": 0.030, "short": 0.038, "video": 0.026, "carousel": 0.033}
"""The arms, and their click rates on an average day."""
DAYS, VISITORS, POPULATION, SWING, SEED = 27, 20_000, 60_000, 0.2, 7
DAY = 86_400.0
NAME, PEOPLE = "homepage", "people"


def demo(
    output: options.Output,
    epsilon: options.Epsilon = 1.0,
    delta: options.Delta = 1e-6,
    picture: Annotated[Path, typer.Option("--output", help="Where the picture goes.")] = Path("tacit-demo.png"),
) -> None:
    """Run an experiment with four home pages on a month of simulated clicks, and draw which share each page got."""
    options.check_picture(picture)
    design = Design(
        NAME, tuple(RATES), epsilon, delta, PEOPLE, people_per_day=VISITORS, score=0.03, days=1, min_share=0.02
    )
    rates = ", ".join(f"{arm} {rate:.1%}" for arm, rate in RATES.items())
    output.say(
        f"Four home pages, {VISITORS:,} visits a day by {POPULATION:,} people, {DAYS} days. The clicks are simulated.\n"
        f"Nobody told the experiment the click rates: {rates}.\n"
        "Each day the clicks of each page are added up and released once, with noise. Later shares follow from that.\n"
    )
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "decisions.db") as store:
        store.ledger(PEOPLE, epsilon=epsilon, delta=delta, renews="monthly")
        clicked, found = run(store, design)
    output.say("Page       Share of traffic now                   Effect against control, all looks together 95%")
    for arm in found["arms"]:
        effect = arm["effect"]
        words = f"{effect['low']:+.2%} to {effect['high']:+.2%}: {arm['verdict']}" if effect else ""
        output.say(f"{arm['arm']:10s} {arm['share']:5.0%} {'#' * round(30 * arm['share']):30s}  {words}")
    visits, equal, best = DAYS * VISITORS, sum(RATES.values()) / len(RATES), max(RATES.values())
    contract = found["contract"]
    verdict = tacit.verify(contract["contract"])
    output.say(
        f"\n{visits:,} visits, {clicked:,} clicks. Expected: {equal * visits:,.0f} with equal shares, "
        f"{best * visits:,.0f} if the best page had been known.\n\n"
        f"The contract:\n\n{contract['text']}\n"
        f"Recomputed by the second accountant: {verdict.answer}, epsilon={verdict.epsilon:.6g} at delta={delta:g}.\n"
    )
    promised = f"epsilon={contract['contract']['epsilon']:.4g} at delta={delta:g}"
    plot_shares(
        found["shares"],
        picture,
        title=f"Four home pages, a month of clicks, epsilon = {epsilon:g}",
        caption=f"{promised} for {contract['contract']['protected']}\n{visits:,} simulated visits, {clicked:,} clicks",
    )
    shares = {arm["arm"]: arm["share"] for arm in found["arms"]}
    record = {"visits": visits, "clicks": clicked, "shares": shares, "contract": contract["contract"]}
    output.answer(f"Picture: {picture}", record | {"picture": str(picture)})


def run(store: Store, design: Design) -> tuple[int, dict[str, Any]]:
    """Run the experiment on a clock of its own; give how many clicked, and everything that may be shown."""
    start = datetime.now(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0).timestamp()
    day, clicked = 0, 0
    coins = Randomness.replayable(SEED).stream("people")
    with Experiments(store, clock=lambda: start + DAY * day) as experiments:
        experiments.make(design)
        experiments.start(NAME)
        for day in range(1, DAYS + 1):  # by the clock: the visits of a day come before it turns
            level = 1 + SWING * sin(2 * pi * day / 7)
            people = coins.integers(POPULATION, size=VISITORS).tolist()
            rows = clicks(
                experiments.policy(NAME),
                {arm: level * rate for arm, rate in RATES.items()},
                people,
                coins.random(VISITORS),
            )
            experiments.reply(NAME, rows)
            clicked += len(rows)
            experiments.tick()
        versions = [version["shares"] for version in experiments.describe(NAME)["versions"]]
        shares = {arm: [version[arm] for version in versions] for arm in RATES}
        return clicked, {**experiments.results(NAME), "shares": shares, "contract": experiments.contract(NAME)}


app = options.single_command(demo)
