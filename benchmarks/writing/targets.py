"""What the project wants of itself, and whether the results say so: the head of the page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from benchmarks.writing.tables import number, table

LEEWAY = 0.25  # a fitted exponent may be above its promise by so much: sizes are few, and caches have steps
BUSY = 0.5  # programs for each core: beyond, what waits for a disk or a core says little
LOAD = "other programs that wanted a core before, for each core"


ROUND = "microseconds a round, N="
SUM, NOISE = "limit: the sum of the losses alone", "limit: the noise of HedgeOnSums alone"


class Target(NamedTuple):
    """A number that is wanted.

    Attributes:
        section: the benchmark or peer.
        key: matches the whole names of the results that are meant.
        limit: what they must keep to.
        most: whether the limit is the most that is allowed, or the least that is wanted.
        about: what the numbers are, where their names do not say it.
        beside: the name of the result that no program can go below (or above).
    """

    section: str
    key: str
    limit: float
    most: bool = True
    about: str = ""
    beside: str = ""

    def met(self, value: float) -> bool:
        return value <= self.limit if self.most else value >= self.limit


class Verdict(NamedTuple):
    """A result beside its target."""

    target: Target
    name: str
    value: float
    limit: float | None = None

    @property
    def met(self) -> bool:
        return self.target.met(self.value)


TARGETS = (
    Target("experts", r"array run 1e5 x 1e3 with numpy, .*", 3.0),
    Target("experts", r"array run 1e5 x 1e3 with C, .*", 1.6),
    Target("experts", r"play/observe K=10, .*", 2.0),
    Target("experts", r"play/observe K=1000, .*", 0.1),
    *(
        Target("rounds", rf"{ROUND}{n}, {name}", most, beside=f"{ROUND}{n}, {beside}")
        for n, name, most, beside in (
            (10, "LazyExperts", 1.8, SUM),
            (1000, "LazyExperts", 3.5, SUM),
            (10, "ScheduledExperts, .*", 1.2, SUM),
            (1000, "ScheduledExperts, .*", 3.5, SUM),
            (10, "HedgeOnSums", 1.5, NOISE),
            (1000, "HedgeOnSums", 18.0, NOISE),
        )
    ),
    Target("rounds", r"PrivateFTRL .*", 10.0, beside="limit: microseconds of its noise alone"),
    Target("rounds", r"exact Gaussian noise: .*", 11.0, beside="limit: nanoseconds of a word of AES"),
    Target(
        "rounds",
        r"LazyExperts at N=10, an array .*",
        25.0,
        most=False,
        beside="limit: million rounds a second of one losses.sum()",
    ),
    Target("rounds", r"KB of state, .*", 12.0),
    Target("deciding", r"decisions a second without reports .*", 100_000.0, most=False),
    Target("convex", r"CTRL holds d=20 over bare rank-one loop", 5.0),
    Target("convex", r"CTRL switch t=1e5 d=20 seconds", 0.2),
    Target("convex", r"CTRL d=20, a round on a busy machine over one on an idle machine", 1.5),
    Target("service", r"processor microseconds of a request beyond the store", 150),
    Target("tracking", r"(?!.*rounds per second).*", 5.0, about="time over plain fixed share, "),
    Target("sdk", r"decisions a second .*", 200_000.0, most=False),
    Target("experiments", r"ratio, replies in batches of 100 / bare upserts, .*", 0.5, most=False),
    Target("experiments", r"ratio, replies to four services / to one, PostgreSQL", 1.0, most=False),
    Target("experiments", r"ratio, closing a million rows / one GROUP BY, .*", 10.0),
    Target("experiments", r"ratio, 99% of batches while closing and deleting / before, .*", 3.0),
    Target("experiments", r"guesses by time .*, in deviations above chance, .*", 3.0),
    *(
        target
        for name in ("store", "service")
        for target in (
            Target(name, rf"ratio, {name} with 8 clients / bare database", 0.5, most=False),
            Target(name, r"99% of decisions with 8 clients, .*", 5.0),
        )
    ),
    Target("store", r"ratio, opening one of 1,000 learners / one of ten", 2.0),
    Target("store", r"opening a learner again, ms of CPU", 5.0),
    Target("store", r"a charge to a ledger of 400 entries, ms of CPU", 5.0),
    Target("service", r"ratio, first decision of one of 1,000 learners / of one of ten", 2.0),
    Target("spark", r".*ratio.*tacit / identity.*", 0.5, most=False),
)


USERS = (
    ("A private decision among 10 experts and its feedback take {} microseconds (`LazyExperts`).",
     "rounds", ROUND + "10, LazyExperts"),
    ("river's epsilon-greedy bandit, which keeps no secret, takes {} on the same rounds.",
     "rounds", ROUND + "10, river's epsilon-greedy bandit, not private"),
    ("Among 1,000 experts: {} microseconds.", "rounds", ROUND + "1000, LazyExperts"),
    ("river's bandit at 1,000 arms: {} microseconds.",
     "rounds", ROUND + "1000, river's epsilon-greedy bandit, not private"),
    ("Decisions from private running sums (`HedgeOnSums`) at 10 experts: {} microseconds a round.",
     "rounds", ROUND + "10, HedgeOnSums"),
    ("An array of rounds at 10 experts: {} million rounds a second.",
     "rounds", "LazyExperts at N=10, an array of 4e5 rounds: million rounds a second"),
    ("A whole array of 1e5 x 1e3 losses takes {} times as long as adding it up once.",
     "experts", "array run 1e5 x 1e3 with C, times one losses.sum() (at most 1.6)"),
    ("A draw of exact Gaussian noise: {} nanoseconds.", "rounds", "exact Gaussian noise: nanoseconds a draw"),
    ("A step of private convex optimisation in 20 dimensions, on two streams of noise: {} microseconds.",
     "rounds", "PrivateFTRL at d=20 on two streams: microseconds a round"),
    ("The saved state of a learner of 1,000 experts: {} KB.",
     "rounds", "KB of state, LazyExperts at N=1000 after 500 rounds"),
)  # fmt: skip
"""What a user asks first: a sentence for each, and where its number is."""


def in_ten_numbers(latest: dict[str, dict[str, float]]) -> list[str]:
    """Lines that open the page, of those numbers that were measured."""
    told = [(text, latest[section][key]) for text, section, key in USERS if key in latest.get(section, {})]
    if not told:
        return []
    lines = [f"{at}. {text.format(number(value))}" for at, (text, value) in enumerate(told, 1)]
    return ["## In ten numbers", "", *lines, ""]


def summary(latest: dict[str, dict[str, float]], peers: dict[str, Any]) -> list[str]:
    """Lines for the head of the page: how many targets are met, which are missed, and a row for each."""
    results = {**{name: entry["results"] for name, entry in peers.items()}, **latest}
    found = list(verdicts(results))
    missed = [verdict for verdict in found if not verdict.met]
    lines = ["## Targets", ""]
    if found:
        lines += [f"{len(found) - len(missed)} of {len(found)} are met.{told(missed)}{unsure(latest)}", ""]
        rows = sorted(found, key=lambda verdict: verdict.met)
        lines += table([("what", "wanted", "measured", "physical limit", ""), *map(row, rows)])
    absent = sorted({target.section for target in TARGETS} - set(results))
    if absent:
        lines += [f"Not measured: {', '.join(absent)}.", ""]
    return lines + grown(latest.get("growth", {}))


def verdicts(results: dict[str, dict[str, float]]) -> Iterator[Verdict]:
    for target in TARGETS:
        for key, value in results.get(target.section, {}).items():
            if re.fullmatch(target.key, key):
                name = target.about + re.sub(r" \(at (most|least) [\d.,]+\)", "", key)
                yield Verdict(target, name, value, results[target.section].get(target.beside))


def told(missed: list[Verdict]) -> str:
    """Which ones are missed, and by how much, in words."""
    if not missed:
        return ""
    parts = []
    for verdict in missed:
        limit, value = verdict.target.limit, verdict.value
        factor = value / limit if verdict.target.most else limit / value
        parts.append(f"{verdict.target.section}: {verdict.name} (by a factor of {factor:.2g})")
    return f" Missed: {'; '.join(parts)}."


def unsure(latest: dict[str, dict[str, float]]) -> str:
    load = latest.get("service", {}).get(LOAD, 0.0)
    if load <= BUSY:
        return ""
    return (
        f" The service was measured while {load:.1f} other programs wanted each core: what it and the disk took "
        "says little."
    )


def row(verdict: Verdict) -> tuple[str, str, str, str, str]:
    target = verdict.target
    wanted = f"at {'most' if target.most else 'least'} {number(target.limit)}"
    name = f"{target.section}: {verdict.name}"
    limit = "" if verdict.limit is None else number(verdict.limit)
    return name, wanted, number(verdict.value), limit, "met" if verdict.met else "**missed**"


def grown(results: dict[str, float]) -> list[str]:
    """How many exponents are what docs/growth.md promises, and which are not."""
    above, count = [], 0
    for key, value in results.items():
        if re.search(r"=exponent, ", key):
            count += 1
            promise = results[key.replace("=exponent, ", "=promised, ")]
            if value > promise + LEEWAY:
                what, size, name = key.replace("=exponent", "").split(", ", 2)
                above.append(f"{name}, {what} against {size}: {value:.2f} instead of {promise:g}")
    if not count:
        return []
    kept = f"{count - len(above)} of {count} fitted exponents of time, memory and state are at most {LEEWAY:g} above"
    rest = f" Above: {'; '.join(above)}." if above else ""
    return [f"{kept} what [What grows with what](growth.md) promises.{rest}", ""]


CELL = re.compile(r"(?P<measure>[^,]+) on (?P<data>[^,]+), epsilon=(?P<epsilon>[\d.]+), (?P<model>.+)")
RIVALS = {"diffprivlib": ("diffprivlib", ", pure", 0.0), "opacus": ("Opacus", "(zero-out)", 0.01)}
"""For each private peer: how its models' names begin, what tacit's have at the same contract, and the room it has."""


def behind(peers: dict[str, Any]) -> list[str]:
    """In how many cells the better of tacit's models is level with a private peer at its contract, and where not."""
    lines: list[str] = []
    for name, (theirs, contract, room) in RIVALS.items():
        best: dict[tuple[str, str, str], dict[bool, float]] = {}
        for key, value in peers.get(name, {}).get("results", {}).items():
            found = CELL.fullmatch(key)
            if found is None or key.endswith("deviation") or found["measure"].startswith("seconds"):
                continue
            model, sign = found["model"], -1 if found["measure"] == "log-loss" else 1
            mine = model.startswith("tacit") and model.endswith(contract)
            if mine or model.startswith(theirs):
                cell = best.setdefault((found["measure"], found["data"], found["epsilon"]), {})
                cell[mine] = max(cell.get(mine, -float("inf")), sign * value)
        cells = {place: cell for place, cell in best.items() if len(cell) == 2}
        lost = {place: cell for place, cell in cells.items() if cell[False] - cell[True] > room}
        if cells:
            level = f"not more than {room:g} behind" if room else "level or ahead"
            lines += [f"{name}: tacit is {level} in {len(cells) - len(lost)} of {len(cells)} cells.", ""]
        if lost:
            rows = [(*place, f"{abs(cell[False]):.3f}", f"{abs(cell[True]):.3f}") for place, cell in lost.items()]
            lines += table([("measure", "set", "epsilon", theirs, "tacit"), *rows])
    head = (
        "The better of tacit's classifiers, or its ridge regression, against each private peer at the peer's contract:"
    )
    return [head, "", *lines] if lines else []
