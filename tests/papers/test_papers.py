"""What every paper has and every run of it shows, and the command that shows it."""

import csv
import json
import re
from dataclasses import fields, replace
from io import StringIO

import numpy as np
import pytest

import tacit
from cli.command import refused, run_command
from papers.existing import NAMES, SHORT, numbers_of, paper_of, short_run
from tacit import InvalidInput, algorithms, papers
from tacit.papers import run as running
from tacit.papers.paper import RANKS, Entry, Paper, algorithm_named
from tacit.papers.picture import LABEL_COLUMNS, label_of
from tacit.papers.row import BAND, Row, Settings
from tacit.papers.run import PaperRun, asked_of, fixed_problem, plan_of, printed_plan, run_paper
from tacit.papers.still import Still
from tacit.papers.table import COLUMNS, HEADINGS, number
from tacit.runtime.plan import Plan

STATUSES = {"kept", "exceeded", "no proof", "refuted", "not private", "refused"}
every_paper = pytest.mark.parametrize("name", NAMES)


def rows_with_entries(name):
    """The rows of a short run beside their entries (None: the still player) and simulations.

    The best model on a run's own records, which one-pass streams show, has no entry and is left out.
    """
    paper, run = paper_of(name), short_run(name)
    entries = []
    for stream in paper.streams:
        entries += [None, *(entry for entry in paper.entries if entry.stream == stream.name and entry.shown)]
    played = [
        (row, simulation)
        for row, simulation in zip(run.rows, run.simulations, strict=True)
        if row.label != "no privacy"
    ]
    return [(row, entry, simulation) for (row, simulation), entry in zip(played, entries, strict=True)]


class TestPapers:
    @every_paper
    def test_nothing_is_empty(self, name):
        paper = paper_of(name)
        assert paper.name == name
        for field in fields(Paper):
            assert getattr(paper, field.name), field.name
        for result in paper.results:
            for part in (result.number, result.name, result.kind, result.statement):
                assert part.strip(), result.number
            assert all(reading.strip() for reading in result.readings.values())
        for erratum in paper.errata:
            assert erratum.rank in RANKS
            assert erratum.verdict in ("false", "loose", "incomplete", "proof has a gap", "right, improved")
            assert all(part.strip() for part in (erratum.name, erratum.where, erratum.line))
        assert 8 <= len(paper.says.strip().splitlines()) <= 14
        assert paper.link.startswith("https://")
        assert 2000 < paper.year < 2030

    @every_paper
    def test_results_are_those_of_the_text(self, name):
        """Both ways: nothing is left out, and nothing is made up."""
        typed = numbers_of(name)
        ours = [result.number for result in paper_of(name).results]
        assert ours == list(dict.fromkeys(ours))
        assert set(ours) == set(typed.get("results", typed))

    @every_paper
    def test_errata_stand_the_worst_first_and_are_named_by_results(self, name):
        paper = paper_of(name)
        known = {erratum.name for erratum in paper.errata}
        assert len(known) == len(paper.errata)
        assert {each for result in paper.results for each in result.errata} <= known
        ranks = [erratum.rank for erratum in paper.errata]
        assert ranks == sorted(ranks)
        assert all(re.fullmatch(r"[a-z0-9_]+", each) for each in known)

    @every_paper
    def test_every_result_with_a_plan_runs(self, name):
        paper = paper_of(name)
        for result in paper.results:
            if not result.plan or not issubclass(result.runs, Plan):  # parts of algorithms have tests of their own
                continue
            settings = Settings(paper.horizon, paper.dimension, 1.0, 1e-6, 1, 0)
            plan = printed_plan(paper, result, settings)
            assert isinstance(plan, result.runs)
            assert plan.printed.paper == name
            assert plan.printed.result == result.choose.get("result", result.number)
            assert plan.printed_status in STATUSES - {"refused"}
            assert plan.printed.regret is not None or plan.printed.order or plan.printed_status

    @every_paper
    def test_what_runs_of_a_paper_stands_in_its_results(self, name):
        paper = paper_of(name)
        numbers = {result.number for result in paper.results}
        for plan in {result.plan for result in paper.results if result.plan}:
            of_paper = {result.choose.get("result", result.number) for result in paper.results if result.plan == plan}
            assert of_paper <= {*getattr(algorithm_named(plan), "printed_results", of_paper)}
        for entry in paper.entries:
            assert entry.stream in {stream.name for stream in paper.streams}
            assert isinstance(algorithm_named(entry.plan), type)
            assert not entry.result or entry.result in numbers
            assert bool(entry.result) or entry.kind != "printed"
            assert not entry.result or entry.kind in ("printed", "repaired")
        kinds = {entry.kind for entry in paper.entries}
        assert {"printed", "rival"} <= kinds

    def test_results_are_found_by_number(self):
        paper = paper_of(NAMES[0])
        first = paper.results[0]
        assert paper.result(first.number) is first
        with pytest.raises(InvalidInput, match="Got 'Theorem 99' instead"):
            paper.result("Theorem 99")

    def test_unknown_papers_have_no_module(self):
        with pytest.raises(AttributeError, match="no attribute 'zhang'"):
            papers.zhang  # noqa: B018


class TestRows:
    @every_paper
    def test_rows_are_the_plans_of_their_labels(self, name):
        """Algorithm, signature, and the regret of every row, made again from its entry."""
        paper, settings = paper_of(name), short_run(name).settings
        for row, entry, simulation in rows_with_entries(name):
            (stream,) = (each for each in paper.streams if each.name == row.stream)
            problem = stream.problem(settings.horizon, settings.dimension)
            if entry is None:
                assert row.label == "still"
                assert isinstance(simulation.plan, Still)
                continue
            assert row.label == entry.kind
            assert row.plan == algorithm_named(entry.plan).__name__
            assert row.result == entry.result
            if simulation is None:
                assert row.status == "refused"
                assert row.note
                continue
            asked = asked_of(entry, problem, settings)
            plan = plan_of(entry, fixed_problem(problem) if entry.fixed else problem, asked)
            assert simulation.plan.signature == plan.signature
            assert type(simulation.plan) is type(plan)
            assert (simulation.plan.printed is not None) == bool(entry.result)
            again = tacit.simulate(
                plan,
                stream.environment(problem, settings.horizon),
                runs=settings.runs,
                seed=settings.seed,
                switches=problem.switches if entry.fixed else None,
                progress=False,
            )
            assert np.array_equal(again.regret, simulation.regret)
            assert row.mean == np.mean(again.regret[:, -1])
            assert (row.low, row.high) == tuple(np.percentile(again.regret[:, -1], BAND))
            assert np.array_equal(row.switches, np.mean(again.switches), equal_nan=True)

    @every_paper
    def test_status_and_epsilon_follow_from_the_plan_that_ran(self, name):
        delta = short_run(name).settings.delta
        for row, entry, simulation in rows_with_entries(name):
            assert row.status in STATUSES
            if simulation is None:
                continue
            plan = simulation.plan
            assert row.epsilon == plan.guarantee.curve.epsilon(min(delta, plan.guarantee.at_delta))
            assert row.regret_bound == simulation.bound
            if plan.printed is not None:
                assert row.status == plan.printed.status(plan.guarantee.curve)
                assert row.printed_regret == plan.printed.regret
                assert row.reading == plan.printed.reading
            elif entry is not None and plan.private and entry.private:
                assert row.status == "kept"
                assert row.epsilon <= row.asked * (1 + 1e-9) or plan.guarantee.curve.delta(row.asked) <= delta

    @every_paper
    def test_repaired_rows_are_kept_and_say_what_was_changed(self, name):
        for row, entry, _ in rows_with_entries(name):
            if entry is not None and entry.kind == "repaired" and row.status != "refused":
                assert row.status in ("kept", "not private")
                assert row.reading or row.note

    @every_paper
    def test_rows_say_where_they_lose_to_the_still_player(self, name):
        stills = {row.stream: row.mean for row, entry, _ in rows_with_entries(name) if entry is None}
        for row, entry, simulation in rows_with_entries(name):
            if entry is not None and simulation is not None:
                assert ("no better than still" in row.note) == (row.mean >= stills[row.stream])
                vacuous = np.isfinite(row.regret_bound) and simulation.plan.vacuous
                assert ("vacuous bound" in row.note) == bool(vacuous)

    @every_paper
    def test_learners_that_differ_from_the_print_say_so(self, name):
        for _, _, simulation in rows_with_entries(name):
            printed = None if simulation is None else simulation.plan.printed
            for parameter, value in ({} if printed is None else printed.values).items():
                running = getattr(simulation.plan, parameter, value)
                if isinstance(running, int | float) and running != value:
                    assert printed.differs, parameter

    def test_what_is_refused_is_a_row_with_its_sentence(self):
        paper = paper_of(NAMES[0])
        stream = paper.streams[0].name
        entry = Entry("rival", "NoSuchAlgorithm", stream)
        run = run_paper(replace(paper, streams=paper.streams[:1], entries=(entry,)), **SHORT)
        (_, row), (_, simulation) = run.rows, run.simulations
        assert (row.status, row.plan, simulation) == ("refused", "NoSuchAlgorithm", None)
        assert row.note == "tacit.algorithms has no 'NoSuchAlgorithm'."
        assert row.note in run.table()
        assert json.loads(json.dumps(run.to_dict()))["rows"][1]["note"] == row.note


class TestTables:
    @every_paper
    def test_text_is_readable_at_120_columns(self, name):
        lines = short_run(name).table().splitlines()
        assert COLUMNS == 120
        assert max(map(len, lines)) <= COLUMNS
        for stream in paper_of(name).streams:
            at = lines.index(stream.name)
            assert lines[at + 1].split()[:2] == ["row", "plan"]
            assert lines[at + 2].startswith("still")

    @every_paper
    def test_files_hold_all_rows(self, name, tmp_path):
        run = short_run(name)
        for ending in (".md", ".csv", ".json"):
            run.write_table(tmp_path / f"table{ending}")
        lines = (tmp_path / "table.md").read_text().splitlines()
        assert len(lines) == len(run.rows) + 2
        assert lines[0] == "| " + " | ".join(HEADINGS) + " |"
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) == 1
        rows = list(csv.DictReader(StringIO((tmp_path / "table.csv").read_text())))
        assert [row["plan"] for row in rows] == [row.plan for row in run.rows]
        for row, ours in zip(rows, run.rows, strict=True):
            assert row["mean"] == (repr(ours.mean) if np.isfinite(ours.mean) else "")
        record = json.loads((tmp_path / "table.json").read_text(), parse_constant=pytest.fail)
        assert record["paper"] == name
        assert record["settings"]["seed"] == SHORT["seed"]
        assert [row["status"] for row in record["rows"]] == [row.status for row in run.rows]
        with pytest.raises(InvalidInput, match=r"'\.md', '\.csv' or '\.json'"):
            run.write_table(tmp_path / "table.txt")

    @every_paper
    def test_printing_a_run_shows_its_table_and_no_arrays(self, name):
        run = short_run(name)
        assert str(run) == run.table()
        assert (
            repr(run)
            == f"PaperRun({name}: {len(run.rows)} rows on {len(paper_of(name).streams)} streams, {run.seconds:.1f} s)"
        )
        html = run._repr_html_()
        assert html.count("<tr>") == len(run.rows) + 1
        assert html.startswith("<table>")

    def test_html_is_escaped(self):
        row = Row("rival", "a <b> & c", note="x < y")
        run = PaperRun(paper_of(NAMES[0]), short_run(NAMES[0]).settings, (row,), (None,), 1.0)
        assert "a &lt;b&gt; &amp; c" in run._repr_html_()
        assert "<b>" not in run._repr_html_()
        assert "x \\| y" in markdown_of(replace(row, note="x | y"))

    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (0.01934, ".0193"),
            (-0.5, "-.5"),
            (0.0, "0"),
            (99.96, "100"),
            (1234.5, "1,234"),
            (None, "-"),
            (1e9, "1.00e9"),
        ],
    )
    def test_numbers_have_three_digits(self, value, text):
        assert number(value) == text

    def test_everything_is_saved_in_a_folder(self, tmp_path):
        name = NAMES[-1]
        short_run(name).save(tmp_path / "new" / "folder")
        found = {path.name for path in (tmp_path / "new" / "folder").iterdir()}
        assert found == {f"{name}.md", f"{name}.csv", f"{name}.json", f"{name}.png"}


def markdown_of(row):
    """The Markdown of one row."""
    return running.TABLES[".md"]([row], None)


class TestPictures:
    @every_paper
    def test_labels_are_whole_and_legends_cover_nothing(self, name, tmp_path):
        """Every row has a label beside its panel; no panel, label or legend overlaps another one."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        run = short_run(name)
        figure = run.plot()
        FigureCanvasAgg(figure).draw()
        drawn = [row for row, simulation in zip(run.rows, run.simulations, strict=True) if simulation is not None]
        labels = [text.get_text() for axes in figure.axes for text in axes.get_legend().get_texts()]
        assert sorted(labels) == sorted(map(label_of, drawn))
        assert all(len(line) <= LABEL_COLUMNS for label in labels for line in label.splitlines())
        legends = [axes.get_legend().get_window_extent() for axes in figure.axes]
        panels = [axes.get_tightbbox() for axes in figure.axes]
        plain = [axes.get_window_extent() for axes in figure.axes]
        for index, box in enumerate(plain):
            assert not any(box.overlaps(legend) for legend in legends)
            assert not any(panels[index].overlaps(other) for other in panels[:index])
        captions = [text.get_window_extent() for text in figure.texts]
        assert not any(caption.overlaps(panel) for caption in captions for panel in panels)
        assert len(figure.axes) == len({row.stream for row in drawn})
        assert run.plot(tmp_path / "picture.png") == tmp_path / "picture.png"
        assert (tmp_path / "picture.png").stat().st_size > 10_000
        with pytest.raises(InvalidInput, match=r"x\.txt"):
            run.plot(tmp_path / "x.txt")

    @every_paper
    def test_bounds_are_dashed_in_the_shade_of_their_row(self, name):
        run = short_run(name)
        for axes in run.plot().axes:
            count = len(axes.get_legend().get_texts())
            shades = {line.get_color() for line in axes.lines[:count]}
            bounds = axes.lines[count:]
            assert {line.get_color() for line in bounds} <= shades
            assert all(line.get_linestyle() == "--" for line in bounds)


class TestRun:
    def test_settings_are_those_that_were_asked(self):
        name = NAMES[0]
        settings = short_run(name).settings
        assert (settings.horizon, settings.runs, settings.seed) == (300, 2, 7)
        assert settings.dimension == paper_of(name).dimension
        assert (settings.epsilon, settings.delta) == (1.0, 1e-6)

    def test_runs_repeat(self):
        name = NAMES[-1]
        again = run_paper(paper_of(name), **SHORT)
        assert [row.mean for row in again.rows] == [row.mean for row in short_run(name).rows]

    def test_results_limit_the_printed_rows(self):
        paper = paper_of(NAMES[-1])
        chosen = next(entry.result for entry in paper.entries if entry.result)
        run = run_paper(paper, **SHORT, results=[chosen])
        assert {row.result for row in run.rows if row.label == "printed"} == {chosen}
        assert {row.result for row in run.rows if row.label == "repaired"} <= {chosen, ""}
        assert {"still", "rival"} <= {row.label for row in run.rows}

    @pytest.mark.parametrize(
        ("given", "word"),
        [
            ({"horizon": 0}, "'horizon'"),
            ({"dimension": 0}, "'dimension'"),
            ({"runs": 0}, "'runs'"),
            ({"seed": -1}, "'seed'"),
            ({"epsilon": 0.0}, "'epsilon'"),
            ({"delta": 1.0}, "'delta'"),
            ({"results": ["Theorem 99"]}, "'results'"),
        ],
    )
    def test_bad_settings_are_refused(self, given, word):
        with pytest.raises(InvalidInput, match=word):
            run_paper(paper_of(NAMES[0]), **(SHORT | given))

    def test_progress_goes_to_standard_error(self, capsys):
        paper = paper_of(NAMES[-1])
        stream = paper.streams[0]
        entries = tuple(entry for entry in paper.entries if entry.stream == stream.name)[:1]
        short = replace(paper, streams=(stream,), entries=entries)
        run_paper(short, **(SHORT | {"progress": True}))
        shown = capsys.readouterr()
        assert shown.out == ""
        count = len(run_paper(short, **SHORT).rows)
        assert f"{paper.name}: {count}/{count}" in shown.err
        capsys.readouterr()
        run_paper(short, **SHORT)
        assert capsys.readouterr().err == ""


class TestCommand:
    @pytest.fixture(autouse=True)
    def _standing(self, monkeypatch):
        """List the papers whose module stands."""
        monkeypatch.setattr(papers, "NAMES", NAMES)

    def test_without_a_name_papers_are_listed(self, capsys):
        assert run_command("paper") == 0
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) == len(NAMES)
        for line, name in zip(lines, NAMES, strict=True):
            paper = paper_of(name)
            for word in (
                name,
                str(paper.year),
                paper.title,
                f"{len(paper.results)} results",
                f"{len(paper.errata)} errata",
            ):
                assert word in line
            assert len(line) <= COLUMNS
        assert run_command("paper", "--json") == 0
        records = json.loads(capsys.readouterr().out)
        assert [record["name"] for record in records] == list(NAMES)
        assert records[0].keys() == {"name", "year", "title", "results", "errata"}

    def test_a_run_is_printed_and_written(self, capsys, tmp_path):
        name = NAMES[-1]
        files = {option: tmp_path / f"x{ending}" for option, ending in (("--plot", ".png"), ("--table", ".csv"))}
        written = [str(part) for pair in files.items() for part in pair]
        assert run_command("paper", name, "--horizon", "200", "--runs", "1", "--seed", "3", *written) == 0
        shown = capsys.readouterr()
        assert shown.out.startswith(paper_of(name).streams[0].name)
        assert shown.err == ""
        assert all(path.stat().st_size for path in files.values())
        assert run_command("paper", name, "--horizon", "200", "--runs", "1", "--seed", "3", "--json") == 0
        record = json.loads(capsys.readouterr().out)
        settings = {"horizon": 200, "runs": 1, "seed": 3}
        assert settings.items() <= record["settings"].items()
        rows = list(csv.DictReader(StringIO(files["--table"].read_text())))
        assert [row["mean"] for row in rows] == [str(row["mean"]) for row in record["rows"]]

    def test_json_has_no_infinite_numbers(self, capsys):
        assert run_command("paper", NAMES[-1], "--horizon", "100", "--runs", "1", "--json") == 0
        json.loads(capsys.readouterr().out, parse_constant=pytest.fail)

    def test_only_the_results_that_are_asked_for(self, capsys):
        name = NAMES[-1]
        chosen = next(entry.result for entry in paper_of(name).entries if entry.result)
        assert run_command("paper", name, "--horizon", "100", "--runs", "1", "--result", chosen, "--json") == 0
        rows = json.loads(capsys.readouterr().out)["rows"]
        assert {row["result"] for row in rows if row["label"] == "printed"} == {chosen}

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (("--plot", "x.txt"), "x.txt"),
            (("--plot", "no/such/folder/x.png"), "There is no folder"),
            (("--table", "x.txt"), "A table is written as .md, .csv, .json. Got 'x.txt' instead."),
            (("--table", "no/such/folder/x.md"), "There is no folder"),
            (("--result", "Theorem 99"), "Got 'Theorem 99' instead"),
            (("--horizon", "0"), "'horizon'"),
            (("--epsilon", "-1"), "'epsilon'"),
            (("--runs", "0"), "'runs'"),
        ],
    )
    def test_bad_input_is_refused_in_one_sentence(self, capsys, monkeypatch, arguments, words):
        """Before any work: nothing is simulated."""
        monkeypatch.setattr(running, "run_rows", lambda *_: pytest.fail("it ran"))
        assert words in refused(capsys, "paper", NAMES[-1], *arguments)


@pytest.mark.parametrize("name", ["zhang", "", "6", "0", "Ctrl", "l2p "])
def test_unknown_names_are_refused(name, capsys):
    assert refused(capsys, "paper", name) == (
        "Error: The 'name' parameter of paper must be 'ctrl', 'l2p', 'bandit', 'tracking' or 'online_to_batch'. "
        f"Got {name!r} instead.\n"
    )


@pytest.mark.parametrize(
    ("spelling", "name"),
    [*((str(at), name) for at, name in enumerate(papers.NAMES, 1)), ("online-to-batch", "online_to_batch")],
)
def test_papers_have_numbers_and_hyphens(spelling, name):
    from tacit.cli.papers import paper_named

    if name not in NAMES:
        pytest.skip(f"{name} does not stand yet")
    assert paper_named(spelling).PAPER.name == name


class TestPrintedSimulations:
    COMMON = ("simulate", "experts", "--n", "3", "--horizon", "300", "--epsilon", "1", "--runs", "1")

    def test_a_printed_plan_runs(self, capsys):
        asked = ("--algorithm", "L2P", "--as-printed", "Theorem 3.10")
        assert run_command(*self.COMMON, *asked) == 0
        first, *rest = capsys.readouterr().out.splitlines()
        assert first.startswith(
            "as printed (l2p, Theorem 3.10, p = eta/epsilon): refuted: asked epsilon=1, delta there is"
        )
        assert rest[0].startswith("L2P: mean regret")
        assert run_command(*self.COMMON, *asked, "--reading", "repaired", "--json") == 0
        record = json.loads(capsys.readouterr().out)
        assert (record["algorithm"], record["status"], record["asked"]) == ("L2P", "kept", 1.0)
        assert record["as_printed"].startswith("l2p, Theorem 3.10, repaired: ")

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (("--as-printed", "Theorem 3.10"), "--as-printed needs --algorithm"),
            (("--algorithm", "L2P", "--reading", "repaired"), "--reading needs --as-printed"),
            (("--algorithm", "L2P", "--as-printed", "Theorem 99"), "'Theorem 99'"),
            (("--algorithm", "Zhang", "--as-printed", "Theorem 8"), "tacit has no algorithm 'Zhang'"),
            (("--algorithm", "OwnMeasure", "--as-printed", "Theorem 8"), "tacit has no algorithm 'OwnMeasure'"),
            (("--algorithm", "LazyExperts", "--as-printed", "Theorem 8"), "No paper prints parameters of LazyExperts"),
            (("--algorithm", "L2P", "--as-printed", "Theorem 3.2", "--max-switches", "3"), "takes no --max-switches"),
            (("--algorithm", "L2P", "--as-printed", "Theorem 3.10", "--reading", "x"), "'reading'"),
        ],
    )
    def test_what_is_refused(self, capsys, arguments, words):
        assert words in refused(capsys, *self.COMMON, *arguments)


def test_simulations_are_printed_in_five_lines():
    plan = algorithms.L2P.as_printed(tacit.Experts(n=3, horizon=200), epsilon=1.0, delta=1e-6)
    for runs, missing in ((1, 0.0), (3, 0.2)):
        simulation = tacit.simulate(plan, "gap", runs=runs, missing=missing, progress=False)
        lines = str(simulation).splitlines()
        assert len(lines) == 5
        assert repr(simulation) == str(simulation)
        assert "array" not in str(simulation)
        assert lines[0] == f"L2P against BernoulliGap: {runs} run{'s' * (runs > 1)} of 200 rounds"
        assert ("rounds without feedback" in lines[3]) == bool(missing)
        assert lines[4].endswith("these runs: seed 0, not private")


def test_the_still_player_looks_at_nothing():
    for name in NAMES:
        for row, entry, simulation in rows_with_entries(name):
            if entry is None:
                assert isinstance(simulation.plan, Plan)
                assert row.epsilon == 0.0
                assert "no better than still" not in row.note


@pytest.mark.slow
@every_paper
def test_a_paper_takes_less_than_a_minute_of_one_processor(name):
    from time import process_time

    before = process_time()
    run_paper(paper_of(name), progress=False)
    assert process_time() - before < 60
