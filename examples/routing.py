"""Learn to route travellers through a town from travel times that belong to them, and draw what was learned.

In each round a group is split among the paths; all that is ever seen of it is its mean travel time. Run:
`python examples/routing.py [picture.png]`.
"""

import argparse

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import networkx as nx

from tacit.algorithms.bandit import BanditFW, Rounds
from tacit.environments.bandit import Routing
from tacit.noise.randomness import Randomness

HORIZON = 1_000_000


def main(output: str = "routing.png", horizon: int = HORIZON) -> None:
    town = Routing(horizon=horizon)
    plan = BanditFW.calibrate(town.problem, epsilon=1.0, delta=1e-6)
    print(plan.explain())

    world = town.start(Randomness.replayable(1).stream("travel times"))
    learner = plan.start()  # secret randomness: this run is private
    late = horizon // 10
    learner.run(Rounds(world.values, horizon - late, keep=False))
    flow = learner.run(Rounds(world.values, late, first=horizon - late)).mean(axis=0)

    print(f"\nregret per traveller: {world.regret / horizon:.4f} of the longest trip")
    print(f"calls of the shortest-path oracle per traveller: {learner.oracle_calls / horizon:.4f}")
    for (tail, head), share, time in zip(town.edges, flow, town.times, strict=True):
        print(f"{tail:>7} -> {head:7} takes {time:.1f}, carries {share:6.1%}")
    draw(town, flow, output)


def draw(town: Routing, flow, output: str) -> None:
    graph = nx.DiGraph(town.edges)
    for layer, nodes in enumerate(nx.topological_generations(graph)):
        for node in nodes:
            graph.nodes[node]["layer"] = layer
    place = nx.multipartite_layout(graph, subset_key="layer")
    figure, axes = plt.subplots(figsize=(10, 5))
    nx.draw_networkx_nodes(graph, place, node_size=2200, node_color="#f2f2f2", edgecolors="#444444", ax=axes)
    nx.draw_networkx_labels(graph, place, font_size=9, ax=axes)
    nx.draw_networkx_edges(
        graph,
        place,
        edgelist=list(town.edges),
        width=[1 + 5 * share for share in flow],
        edge_color=[plt.cm.viridis(0.9 * share) for share in flow],
        node_size=2200,
        arrowsize=16,
        ax=axes,
    )
    labels = {
        edge: f"{share:.0%}\ntakes {time:.1f}" for edge, share, time in zip(town.edges, flow, town.times, strict=True)
    }
    nx.draw_networkx_edge_labels(graph, place, labels, font_size=8, rotate=False, ax=axes)
    axes.set_title("Flow learned at epsilon = 1 from single travel times")
    axes.set_axis_off()
    axes.margins(0.15)
    figure.savefig(output, dpi=150, bbox_inches="tight")
    print(f"picture: {output}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", nargs="?", default="routing.png", help="where the picture goes")
    main(parser.parse_args().output)
