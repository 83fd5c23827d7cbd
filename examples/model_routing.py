"""Route requests among eight classifiers from private error feedback.

Real data: 1,197 handwritten digits (UCI, as shipped in scikit-learn) and the errors of eight classifiers on them,
bundled with tacit. Whether a classifier read a digit right is the feedback of the person who wrote it. Run:
`python examples/model_routing.py [picture.png]`.
"""

import argparse

import numpy as np

import tacit
from tacit.data import digits_models
from tacit.report.plots import plot_regret


def main(output: str = "model_routing.png", runs: int = 20) -> None:
    names, losses = digits_models()
    rounds, n = losses.shape
    plan = tacit.plan(tacit.Experts(n=n, horizon=rounds), epsilon=2.0, delta=1e-6)
    print(plan.explain())

    learner = plan.start()  # secret randomness: this run is private
    answered = np.bincount(learner.run(losses), minlength=n)
    for name, count, wrong in zip(names, answered, losses.mean(axis=0), strict=True):
        print(f"{name:20s} wrong {wrong:6.1%} of the time, answered {count:5d} digits")

    stream = tacit.environments.Replay(losses)
    measured = tacit.simulate(plan, stream, runs=runs)
    floor = tacit.simulate(tacit.plan(plan.problem, epsilon=1e4, delta=1e-6), stream, runs=runs)
    print(f"\nmean regret {measured.mean[-1]:.1f} digits, without privacy {floor.mean[-1]:.1f}")
    print(f"certified at most {measured.bound:.1f}")
    plot_regret([measured], output, title="Routing digits to classifiers, epsilon = 2", floor=floor)
    print(f"picture: {output}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", nargs="?", default="model_routing.png", help="where the picture goes")
    main(parser.parse_args().output)
