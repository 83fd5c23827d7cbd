"""Find a price from single sales, each of which belongs to a customer.

Real data: the daily trading volumes of Google's shares, 2004 to 2008, that ship with matplotlib, as how much demand
a day brings; two hundred customers come each day. That sales fall linearly with the price is a model. All that is
ever seen is the revenue of one customer at the price that was asked. Run:
`python examples/dynamic_pricing.py [picture.png]`.
"""

import argparse

import numpy as np
from matplotlib import cbook

import tacit
from tacit.algorithms.bandit import Rounds
from tacit.environments.bandit import Pricing, PricingOpponent
from tacit.noise.randomness import Randomness
from tacit.report.plots import save_figure, start_figure

CUSTOMERS = 200


class VolumeDriven(PricingOpponent):
    """Demand at price 0 follows the real volumes, day by day, with each customer's own noise around it."""

    def __init__(self, environment: Pricing, demand: np.ndarray, generator: np.random.Generator) -> None:
        super().__init__(environment, generator)
        self._daily = demand

    def _values(self, points):
        customers = np.arange(self._round, self._round + len(points))
        mean = self._daily[customers // CUSTOMERS][:, None]
        drawn = mean + self._generator.uniform(-self._noise, self._noise, points.shape)
        self._demand += drawn.sum(axis=0)
        return self._loss((points * (drawn - points)).mean(axis=1))


def daily_demand(days: int) -> np.ndarray:
    """Volumes on a scale from 0.7 to 1.3; the busiest hundredth of all days counts as one."""
    volume = cbook.get_sample_data("goog.npz")["price_data"]["volume"][:days].astype(float)
    return 0.7 + 0.6 * np.minimum(1.0, (volume - volume.min()) / (np.quantile(volume, 0.99) - volume.min()))


def main(output: str = "dynamic_pricing.png", days: int = 1047) -> None:
    demand = daily_demand(days)
    rounds = CUSTOMERS * len(demand)
    market = Pricing(rounds, demands=(float(demand.mean()),), noise=0.2)
    plan = tacit.plan(market.problem, epsilon=1.0, delta=1e-6)
    print(plan.explain())

    world = VolumeDriven(market, demand, Randomness.replayable(1).stream("customers"))
    learner = plan.start()  # secret randomness: this run is private
    prices = learner.run(Rounds(world.values, rounds))[:, 0]
    late = prices[-rounds // 10 :].mean()
    print(f"regret per customer: {world.regret / rounds:.4f} of the largest loss")
    print(f"price at the end {late:.3f}; the best fixed price in hindsight {demand.mean() / 2:.3f}")

    figure, axes = start_figure()
    by_day = prices.reshape(-1, CUSTOMERS).mean(axis=1)
    axes.plot(by_day, color="0.0", linewidth=0.9, label="asked price, mean of the day")
    axes.plot(demand / 2, ".", color="0.75", markersize=2, label="best price of each day, had it been known")
    axes.axhline(demand.mean() / 2, color="0.4", linestyle="--", label="best fixed price in hindsight")
    axes.set_xlabel("trading day")
    axes.set_ylabel("price")
    axes.set_title("Pricing from single private sales")
    axes.legend(frameon=False, fontsize=8)
    save_figure(figure, output, str(learner.guarantee))
    print(f"picture: {output}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", nargs="?", default="dynamic_pricing.png", help="where the picture goes")
    main(parser.parse_args().output)
