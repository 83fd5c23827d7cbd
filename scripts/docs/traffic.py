"""Draw the README's picture of traffic: `python -m scripts.docs.traffic`, light and dark, to docs/images.

Six arms with click rates of 2.8% to 4.0%, whose common level swings by 30%. On the left `LiveArms` at epsilon = 1, one
round a person; on the right Thompson sampling without privacy, told of clicks every hundred rounds. Both see the same
clicks. A band is the share of an arm's traffic; time is logarithmic, so that learning is seen.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LinearSegmentedColormap

import tacit
from tacit.environments.arms import ClickArms
from tacit.noise.randomness import Randomness
from tacit.validation import FloatArray, IntArray

RATES = (0.028, 0.030, 0.031, 0.033, 0.034, 0.040)
ROUNDS, SEED, TOLD = 1_000_000, 11, 100
EDGES = np.unique(np.geomspace(300, ROUNDS, 81).astype(int))  # of the parts of time whose traffic is averaged
IMAGES = Path(__file__).parents[2] / "docs" / "images"
LOOKS = {
    "light": {
        "paper": "#ffffff",
        "ink": "#1f2328",
        "faint": "#57606a",
        "best": "#0b7a57",
        "others": ("#aebfd0", "#e3e9ef"),
    },
    "dark": {
        "paper": "#0d1117",
        "ink": "#e6edf3",
        "faint": "#9198a1",
        "best": "#2ea879",
        "others": ("#4a5b6e", "#222b36"),
    },
}


def private(losses: FloatArray) -> IntArray:
    """The arms of `LiveArms`."""
    problem = tacit.Arms(n=len(RATES), horizon=ROUNDS)
    plan = tacit.algorithms.LiveArms.calibrate(problem, epsilon=1.0, delta=0.0, mean_at_most=0.1)
    return plan.run(losses, Randomness.replayable(SEED))


def thompson(losses: FloatArray) -> IntArray:
    """The arms of Thompson sampling with uniform priors."""
    generator, arms = np.random.default_rng(SEED), np.empty(ROUNDS, dtype=np.int64)
    clicks, misses = np.ones(len(RATES)), np.ones(len(RATES))
    for first in range(0, ROUNDS, TOLD):
        drawn = generator.beta(clicks, misses, (TOLD, len(RATES))).argmax(axis=1)
        arms[first : first + TOLD] = drawn
        lost = losses[np.arange(first, first + TOLD), drawn]
        misses += np.bincount(drawn, weights=lost, minlength=len(RATES))
        clicks += np.bincount(drawn, weights=1 - lost, minlength=len(RATES))
    return arms


def closed(arms: IntArray, levels: FloatArray) -> float:
    """The share of the gap between random and best that is closed."""
    rates = np.array(RATES)
    got, even, most = (levels * rates[arms]).sum(), levels.sum() * rates.mean(), levels.sum() * rates.max()
    return float((got - even) / (most - even))


def shares(arms: IntArray) -> FloatArray:
    """The share of each arm in each part of the time, shape (arms, parts)."""
    counts = [np.add.reduceat(arms == arm, EDGES[:-1], dtype=float) for arm in range(len(RATES))]
    return np.array(counts) / np.sum(counts, axis=0)


def draw(look: str, panels: dict[str, tuple[FloatArray, float]], levels: FloatArray) -> None:
    """Draw one look: traffic above, the common level of click rates below."""
    colours: dict[str, Any] = LOOKS[look]
    plt.rcParams.update({"font.size": 11, "font.family": "DejaVu Sans", "text.color": colours["ink"]})
    figure, axes = plt.subplots(
        2, 2, figsize=(11, 4.7), sharex=True, sharey="row", height_ratios=[5, 1], facecolor=colours["paper"]
    )
    time, shown = np.sqrt(EDGES[:-1] * EDGES[1:]), np.geomspace(EDGES[0], ROUNDS - 1, 1000).astype(int)
    others = LinearSegmentedColormap.from_list("others", colours["others"])(np.linspace(0, 1, len(RATES) - 1))
    for column, (title, (share, part)) in enumerate(panels.items()):
        above, below = axes[:, column]
        bands = [colours["best"], *others]
        above.stackplot(time, share[::-1], colors=bands, edgecolor=colours["paper"], linewidth=0.7)
        above.set_title(title, loc="left", fontsize=13, fontweight="bold", color=colours["ink"], pad=10)
        note = f"{part:.0%} of the gap between\nrandom and best closed"
        above.text(0.97, 0.24, note, transform=above.transAxes, ha="right", color="#ffffff", fontsize=11.5)
        middles = np.cumsum(share[::-1, 0]) - share[::-1, 0] / 2
        for rate, middle, colour in zip(RATES[::-1], middles, ["#ffffff", *[colours["ink"]] * 5], strict=True):
            if column == 0:
                above.text(time[0] * 1.12, middle, f"{rate:.1%}", va="center", fontsize=9.5, color=colour)
        above.set_ylim(0, 1)
        below.plot(shown, levels[shown], color=colours["faint"], linewidth=1.6)
        below.set_ylim(0.55, 1.45)
        below.set_yticks([0.7, 1.3], ["70%", "130%"])
        below.set_xlabel("round", color=colours["faint"])
    axes[0, 0].set_ylabel("share of traffic", color=colours["faint"])
    axes[0, 0].set_yticks([0, 0.5, 1], ["0", "50%", "100%"])
    axes[1, 0].set_ylabel("level of\nall clicks", color=colours["faint"])
    for axis in axes.ravel():
        axis.set_facecolor(colours["paper"])
        axis.set_xscale("log")
        axis.set_xlim(time[0], time[-1])
        axis.set_xticks([1e3, 1e4, 1e5, time[-1]], ["1,000", "10,000", "100,000", "1 million"])
        axis.minorticks_off()
        axis.tick_params(colors=colours["faint"], length=3)
        for spine in axis.spines.values():
            spine.set_visible(False)
    figure.tight_layout(w_pad=2.5, h_pad=0.6)
    figure.savefig(IMAGES / f"traffic-{look}.png", dpi=150, facecolor=colours["paper"], bbox_inches="tight")
    plt.close(figure)


def main() -> None:
    world = ClickArms(RATES, ROUNDS, swing=0.3, cycles=3.0)
    levels, losses = (made(np.random.default_rng(SEED)) for made in (world.levels, world.losses))
    played = {"LiveArms, epsilon = 1": private(losses), "Thompson sampling, no privacy": thompson(losses)}
    panels = {title: (shares(arms), closed(arms, levels)) for title, arms in played.items()}
    for title, (_, part) in panels.items():
        print(f"{title}: {part:.3f} closed")
    for look in LOOKS:
        draw(look, panels, levels)


if __name__ == "__main__":
    main()
