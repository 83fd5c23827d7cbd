"""`tacit demo`: a private run over a bundled real stream, ending with a picture and the contract."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

import tacit
from tacit.cli import options
from tacit.environments import Replay
from tacit.problems import Problem
from tacit.report.html import write_report
from tacit.report.plots import plot_regret
from tacit.validation import check_integer


def demo(
    output: options.Output,
    epsilon: options.Epsilon = 1.0,
    delta: options.Delta = 1e-6,
    runs: Annotated[int, typer.Option(help="How many runs the picture averages.")] = 20,
    picture: Annotated[
        Path, typer.Option("--output", help="Where the picture goes; a report page goes beside it.")
    ] = Path("tacit-demo.png"),
) -> None:
    """Choose among eight digit classifiers, privately, on a bundled stream; draws a picture, writes a page."""
    options.check_picture(picture)
    check_integer("demo", "runs", runs)
    names, losses = digits_models()
    rounds, n = losses.shape
    plan = tacit.plan(tacit.Experts(n=n, horizon=rounds), epsilon=epsilon, delta=delta)
    output.say(
        f"The stream: {rounds:,} handwritten digits (UCI, as shipped in scikit-learn). Each round one of {n}\n"
        "classifiers answers; whether it was right is the private feedback of the person who wrote the digit.\n"
    )
    output.say(plan.explain())
    learner = plan.start()
    actions = learner.run(losses)
    held = np.bincount(actions, minlength=n)
    output.say("One private run, secret randomness. How often each classifier answered:")
    for name, count in zip(names, held, strict=True):
        output.say(f"  {name:20s} {count:5d}  {'#' * round(40 * count / rounds)}")
    environment = Replay(losses)
    private = tacit.simulate(plan, environment, runs=runs)
    # The same problem at an enormous epsilon: what the loop would pay with no privacy at all.
    floor = tacit.simulate(
        tacit.plan(plan.problem, epsilon=options.WITHOUT_PRIVACY, delta=delta), environment, runs=runs
    )
    plot_regret([private], picture, title=f"Choosing among {n} digit classifiers, epsilon = {epsilon:g}", floor=floor)
    output.say(
        f"\nOver {runs} replayable runs: mean regret {private.mean[-1]:.1f} (certified regret {private.bound:.1f}), "
        f"without privacy {floor.mean[-1]:.1f}.\n\nThe contract of the private run:\n{learner.guarantee}\n\n"
        f"Picture: {picture}"
    )
    # Every algorithm at three privacies, as one page that opens offline.
    privacies = [(epsilon / 3, delta), (epsilon, delta), (options.WITHOUT_PRIVACY, delta)]
    page = write_report(
        tacit.sweep(plan.problem, privacies, digits_stream, runs=runs, algorithms="all", command="tacit demo"),
        picture.with_suffix(".html"),
        command="tacit demo",
        title="Choosing among digit classifiers, privately",
        secret=learner.guarantee,
    )
    record = {"regret": float(private.mean[-1]), "certified_bound": private.bound, "floor": float(floor.mean[-1])}
    output.answer(f"Report:  {page}", record | {"picture": str(picture), "page": str(page)})


def digits_stream(problem: Problem) -> Replay:
    """The bundled stream as an environment."""
    return Replay(digits_models()[1])


def digits_models() -> tuple[list[str], np.ndarray]:
    """The bundled stream: classifier names, and 0/1 losses of shape (rounds, classifiers)."""
    text = files("tacit.data").joinpath("digits_models.csv").read_text(encoding="utf-8").splitlines()
    return text[0].split(","), np.array([line.split(",") for line in text[1:]], dtype=np.float64)
