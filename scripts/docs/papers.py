"""Make the pages of the five papers: docs/papers/NAME.md from a run, its numbers as JSON beside it, its pictures.

`make papers`, or `python scripts/docs/papers.py [NAME ...]`. With `--text` pages are written again from the numbers
that are kept. A page holds the digest of the sources that its numbers come from: `--check` fails if one has changed.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import sys
from dataclasses import dataclass, fields
from math import inf
from pathlib import Path
from typing import Any

import tacit
from tacit import papers
from tacit.algorithms.bandit.printed_tree import PrintedTree
from tacit.errors import TacitError
from tacit.papers.paper import RANKS, Paper, Result, algorithm_named
from tacit.papers.row import Row, Settings
from tacit.papers.run import printed_plan
from tacit.papers.table import json_table, markdown_table
from tacit.runtime.plan import Plan

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "papers"
EPSILON = 1.0
DELTA = 1e-6
LARGER = 2
"""A second run has so many times the rounds, and fewer runs."""
FEWER_RUNS = 3


def main(names: list[str]) -> int:
    """Write the pages of the papers named, or check all of them; return the exit code."""
    if names == ["--text"]:
        for name in papers.NAMES:
            write_text(name)
        return 0
    if names == ["--check"]:
        stale = [name for name in papers.NAMES if not is_current(name)]
        for name in stale:
            print(f"docs/papers/{name}.md is older than the code: run make papers", file=sys.stderr)
        return int(bool(stale))
    for name in names or papers.NAMES:
        write(name)
    return 0


def write(name: str) -> None:
    """Run a paper at its own and at a larger size, and write its page, its numbers and its pictures."""
    module = getattr(papers, name)
    paper: Paper = module.PAPER
    first = module.run(epsilon=EPSILON, delta=DELTA, progress=True)
    larger = module.run(horizon=LARGER * paper.horizon, epsilon=EPSILON, delta=DELTA, runs=FEWER_RUNS, progress=True)
    (PAGES / "pictures").mkdir(parents=True, exist_ok=True)
    first.plot(PAGES / "pictures" / f"{name}.png")
    record = {
        "tacit": tacit.__version__,
        "digest": digest(name),
        "runs": [json.loads(json_table(run.rows, run.to_dict())) for run in (first, larger)],
    }
    (PAGES / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    write_text(name)


def write_text(name: str) -> None:
    """Write the page of a paper from its kept numbers."""
    record = json.loads((PAGES / f"{name}.json").read_text(encoding="utf-8"))
    first, larger = (kept_run(each) for each in record["runs"])
    paper: Paper = getattr(papers, name).PAPER
    (PAGES / f"{name}.md").write_text(page(paper, first, larger), encoding="utf-8")


@dataclass(frozen=True)
class KeptRun:
    """The settings and rows of a run, as they are kept."""

    settings: Settings
    rows: tuple[Row, ...]


def kept_run(record: dict[str, Any]) -> KeptRun:
    """Return a run from its JSON, in which a number that is infinite is null."""
    infinite = {field.name for field in fields(Row) if field.default == inf}
    rows = [
        {name: inf if value is None and name in infinite else value for name, value in row.items()}
        for row in record["rows"]
    ]
    return KeptRun(Settings(**record["settings"]), tuple(Row(**row) for row in rows))


def plain(text: str) -> str:
    """Return text in which no sign is taken for Markdown."""
    for sign in "\\_*<>[]":
        text = text.replace(sign, f"\\{sign}")
    return text


def digest(name: str) -> str:
    """Return the digest of the sources behind a page: the paper, its printed formulas and its algorithms."""
    paper: Paper = getattr(papers, name).PAPER
    plans = {algorithm_named(entry.plan) for entry in paper.entries}
    plans |= {result.runs for result in paper.results if result.plan}
    package = ROOT / "packages" / "tacit" / "src" / "tacit"
    files = {package / "papers" / f"{name}.py", package / "papers" / "run.py", package / "papers" / "row.py"}
    files |= {package / "printed" / f"{name}.py"}
    files |= {Path(inspect.getfile(plan)) for plan in plans}
    together = hashlib.sha256()
    for file in sorted(files):
        together.update(file.relative_to(package).as_posix().encode())
        together.update(file.read_bytes())
    return together.hexdigest()


def is_current(name: str) -> bool:
    """Return True if the page of a paper was made from the sources that stand."""
    file = PAGES / f"{name}.json"
    return file.exists() and json.loads(file.read_text(encoding="utf-8"))["digest"] == digest(name)


def page(paper: Paper, first: KeptRun, larger: KeptRun) -> str:
    """Return the page of a paper."""
    number = papers.NAMES.index(paper.name) + 1
    parts = [
        f"# {paper.title}",
        f"{paper.authors} ({paper.year}), {paper.venue}, <{paper.link}>. Read: {paper.version}.",
        plain(paper.says.strip()),
        f"This page is made by `make papers` from `tacit paper {paper.name}` (paper {number} of five).",
        "## Results",
        "What is printed, what became of it, and the line that runs it. A status is computed from the plan: *kept* "
        "(at most the asked epsilon is proved), *exceeded* (more is proved), *no proof*, *refuted* (an attack shows "
        "that the asked delta is exceeded), *not private* (the paper promises none). Plans that are not kept run in "
        "simulations and audits only.",
        *results_of(paper),
        "## Beside each other",
        settings_of(first),
        markdown_table(first.rows, None),
        f"![Mean regret of each row of the table above with its 10th to 90th percentile](pictures/{paper.name}.png)",
        settings_of(larger),
        markdown_table(larger.rows, None),
        HOW_TO_READ,
        "## Errata",
        *errata_of(paper),
        "## Run it",
        f"```bash\ntacit paper {paper.name} --plot {paper.name}.png --table {paper.name}.csv\n```",
        f"```python\nfrom tacit import papers\n\nfound = papers.{paper.name}.run(horizon={paper.horizon // 10}, "
        "runs=2)\nprint(found)\n```",
    ]
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


HOW_TO_READ = (
    "*Printed* is the paper's bound at the parameters that ran, not capped; *bound* is what is certified for the plan; "
    "*epsilon* is what is proved of it at the delta that was asked. *Still* looks at no feedback: who is not better "
    "than still has learnt nothing. *s* is processor time of one run in seconds."
)


def settings_of(run: KeptRun) -> str:
    """Return what a run was asked for, in one sentence."""
    asked = run.settings
    return (
        f"T={asked.horizon:,}, dimension {asked.dimension}, epsilon={asked.epsilon:g}, delta={asked.delta:g}, "
        f"{asked.runs} runs, seed {asked.seed}: mean regret with its 10th and 90th percentile."
    )


def results_of(paper: Paper) -> list[str]:
    """Return a section for each result."""
    sections = []
    for result in paper.results:
        lines = [f"**{result.number}** ({result.kind}): {plain(result.name)}. {plain(result.statement)}"]
        if result.plan:
            lines += run_of(paper, result)
        if result.errata:
            named = ", ".join(f"[{name}](#errata)" for name in result.errata)
            lines.append(f"Errata: {named}.")
        sections.append("\n\n".join(lines))
    return sections


def run_of(paper: Paper, result: Result) -> list[str]:
    """Return the line of Python that runs a result, and what became of it."""
    algorithm = result.runs
    if not issubclass(algorithm, Plan):
        return part_of(result)
    settings = Settings(paper.horizon, paper.dimension, EPSILON, DELTA, runs=1, seed=0)
    try:
        plan = printed_plan(paper, result, settings)
    except TacitError as error:
        return [f"At this size it does not run: {plain(str(error))}"]
    printed = plan.printed
    assert printed is not None
    given = {"result": result.number, **result.choose}
    if printed.epsilon is not None:
        given = {"epsilon": printed.epsilon, "delta": printed.delta} | given
    arguments = ", ".join(f"{name}={'...' if callable(value) else repr(value)}" for name, value in given.items())
    said = f"*{plan.printed_status}*: {plain(printed.promise(plan.guarantee.curve))}."
    if printed.differs:
        said += f" Differs from the print: {plain('; '.join(printed.differs))}."
    return [f"```py\n{result.runs.__name__}.as_printed(problem, {arguments})\n```", said]


def part_of(result: Result) -> list[str]:
    """Return the call that runs a part of an algorithm, such as a running sum, and what became of it."""
    arguments = ", ".join(f"{name}={value!r}" for name, value in result.choose.items())
    if result.runs is not PrintedTree:
        return [f"```py\n{result.runs.__name__}.as_printed({arguments}, ...)\n```"]
    given = {"epsilon": EPSILON, "delta": DELTA, **result.choose}
    arguments = ", ".join(f"{name}={value!r}" for name, value in given.items())
    made = PrintedTree.as_printed(**given)
    said = f"*{made.status}*: {made.printed.promise(made.curve)}. Differs from the print: "
    return [
        f"```py\nPrintedTree.as_printed({arguments})\n```",
        f"{said}{plain('; '.join(made.printed.differs))}.",
    ]


def errata_of(paper: Paper) -> list[str]:
    """Return a list of errata, the worst first, each with the command that checks it."""
    listed = []
    for rank, words in RANKS.items():
        of_rank = [each for each in paper.errata if each.rank == rank]
        if of_rank:
            listed.append(f"**{words.capitalize()}**")
            rows = [
                f"- `python errata/{paper.name}.py {each.name}` ({plain(each.where)}): {plain(each.line)}"
                for each in of_rank
            ]
            listed.append("\n".join(rows))
    return listed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
