"""The noise of the private running sums, step by step: what a factorisation saves over the binary tree."""

from __future__ import annotations

import numpy as np

from tacit.mechanisms.running_sums import Buffered, LaplaceTree, RunningSum, SquareRoot, Tree
from tacit.privacy.calibration import gaussian_mu
from tacit.report.style import LINES, SHADES, Target, legend_below, save_figure, start_figure
from tacit.validation import LARGEST_DIMENSION, FloatArray, check_integer, check_privacy


def running_sum_noise(steps: int, *, epsilon: float, delta: float) -> dict[str, FloatArray]:
    """Standard deviation of the noise at each step, by mechanism, at sensitivity 1 and equal privacy.

    >>> noise = running_sum_noise(1000, epsilon=1.0, delta=1e-6)
    >>> {name: round(float(values.mean()), 1) for name, values in noise.items()}["Tree"]
    29.3
    """
    check_integer("running_sum_noise", "steps", steps, at_most=LARGEST_DIMENSION)
    check_privacy("running_sum_noise", epsilon, delta)
    mechanisms: list[tuple[RunningSum, float]] = [(LaplaceTree.best(steps), epsilon)]
    if delta > 0:
        mu = gaussian_mu(epsilon, delta)
        mechanisms = [(Tree(steps), mu), (SquareRoot(steps), mu), (Buffered(steps), mu), *mechanisms]
    return {type(m).__name__: m.standard_deviations(m.scale(privacy)) for m, privacy in mechanisms}


def plot_noise(path: Target, *, steps: int = 1000, epsilon: float = 1.0, delta: float = 1e-6) -> Target:
    """Noise against the step, one line for each mechanism."""
    noises = running_sum_noise(steps, epsilon=epsilon, delta=delta)
    figure, axes = start_figure(2)
    time = np.arange(1, steps + 1)
    for index, (name, values) in enumerate(noises.items()):
        label = f"{name}, mean {values.mean():.1f}, largest {values.max():.1f}"
        axes.plot(time, values, linestyle=LINES[index % 4], color=SHADES[index % 6], linewidth=1.1, label=label)
    axes.set_xlabel("step")
    axes.set_ylabel("standard deviation (sensitivities)")
    axes.set_title(f"Noise of private running sums of {steps:,} steps")
    axes.set_yscale("log")
    legend_below(figure, axes.get_legend_handles_labels()[0], 2)
    caption = (
        f"epsilon={epsilon:g} at delta={delta:g} for the whole stream of sums (LaplaceTree: pure epsilon)\n"
        "  unit:       one added vector of norm at most 1 (l2 for Gaussian noise, l1 for Laplace noise)\n"
        "  released:   every noisy sum\n  numerics:   idealized: float64 samplers"
    )
    return save_figure(figure, path, caption)
