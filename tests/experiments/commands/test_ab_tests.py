"""`tacit test` on the command line: from a file to a verified contract, and a plan before anything starts."""

import json

import pytest

pytest.importorskip("sqlalchemy")

from cli.command import refused, run_command
from experiments.ab_tests.test_analysis import persons

OPTIONS = ("--arms", "control,short", "--metric", "bought=conversion", "--store", "decisions.db")


@pytest.fixture
def said(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def run(*words):
        assert run_command(*words) == 0
        return capsys.readouterr().out

    return run


def test_one_command_analyses_a_file(tmp_path, said):
    persons(tmp_path)
    first = said("test", "analyse", "persons.csv", *OPTIONS, "--epsilon", "1", "--contract", "contract.json")
    assert "The ledger 'people' is new" in first
    assert "short: bought (primary)" in first
    assert "Contract: yes: epsilon=0.999" in first
    assert "sample ratio is the only check" in first
    assert said("contract", "verify", "contract.json").startswith("yes: epsilon=0.999")
    again = said("test", "analyse", "persons.csv", *OPTIONS, "--epsilon", "1")
    assert again.startswith("This look was released before")
    assert first.splitlines()[1:3] == again.splitlines()[1:3]


def test_a_design_has_looks_segments_and_other_columns(tmp_path, said):
    file = persons(tmp_path)
    file.write_text(file.read_text().replace("person,arm", "user_id,variant", 1))
    design = {
        "mode": "test",
        "name": "checkout",
        "arms": ["control", "short"],
        "metrics": [
            {"kind": "conversion", "name": "bought", "expected": 0.1},
            {"kind": "sum", "name": "revenue", "high": 100},
        ],
        "segments": {"device": ["phone"]},
        "guardrails": {"revenue": 0.2},
        "epsilon": 0.5,
        "looks": 2,
        "ledger": "visitors",
    }
    (tmp_path / "design.json").write_text(json.dumps(design))
    command = ("test", "analyse", "persons.csv", "--design", "design.json", "--store", "decisions.db")
    columns = ("--person-column", "user_id", "--arm-column", "variant")
    found = json.loads(said(*command, *columns, "--look", "1", "--json"))
    assert found["verified"] == "yes"
    assert found["results"]["looks_released"] == [1]
    assert found["contract"]["ledger"] == "visitors"
    text = said(*command, *columns, "--look", "2")
    assert "look 2 of 2" in text
    assert "device = phone, short: bought" in text
    assert "revenue (guardrail)" in text


def test_ratios_and_segments_as_options(tmp_path, said):
    persons(tmp_path)
    more = (
        "--metric",
        "revenue=sum:100",
        "--metric",
        "basket=ratio:revenue:bought",
        "--segment",
        "device=phone,tablet",
    )
    text = said("test", "analyse", "persons.csv", *OPTIONS, *more, "--epsilon", "1", "--name", "mine", "--ledger", "l")
    assert "mine: look 1 of 1" in text
    assert "basket (secondary)" in text
    assert "device = other" in text


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--arms", "a,b", "--metric", "bought=conversion", "--epsilon", "1"), "--store"),
        (("--metric", "bought=conversion", "--epsilon", "1", "--store", "d.db"), "--arms and --metric"),
        (("--arms", "a,b", "--epsilon", "1", "--store", "d.db"), "--arms and --metric"),
        ((*OPTIONS,), "--epsilon"),
        ((*OPTIONS, "--epsilon", "0"), "epsilon"),
        ((*OPTIONS, "--epsilon", "1", "--delta", "0"), "delta"),
        ((*OPTIONS, "--epsilon", "1", "--metric", "bought=conversion"), "give each a name of its own"),
        ((*OPTIONS, "--epsilon", "1", "--metric", "revenue=sum"), "written as"),
        ((*OPTIONS, "--epsilon", "1", "--metric", "revenue=sum:many"), "must be a number"),
        ((*OPTIONS, "--epsilon", "1", "--metric", "revenue=sum:-1"), "high"),
        ((*OPTIONS, "--epsilon", "1", "--metric", "x=ratio:bought:nothing"), "two metrics of this test"),
        ((*OPTIONS, "--epsilon", "1", "--metric", "missing=conversion"), "there is no 'missing'"),
        ((*OPTIONS, "--epsilon", "1", "--segment", "device"), "device=phone,desktop"),
        ((*OPTIONS, "--epsilon", "1", "--segment", "bought=yes,no"), "name of another column"),
        ((*OPTIONS, "--epsilon", "1", "--look", "2"), "from 1 to 1"),
        ((*OPTIONS, "--epsilon", "1", "--looks", "4"), "say which one"),
        ((*OPTIONS, "--epsilon", "1", "--looks", "99"), "looks"),
        ((*OPTIONS, "--epsilon", "1", "--design", "none.json"), "can be read"),
        ((*OPTIONS, "--epsilon", "1", "--contract", "no/where.json"), "no folder"),
        (("--arms", "a", "--metric", "bought=conversion", "--store", "d.db", "--epsilon", "1"), "2 to 64 different"),
        (("--arms", "a,a", "--metric", "bought=conversion", "--store", "d.db", "--epsilon", "1"), "2 to 64 different"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, tuple) else "",
)
def test_bad_input_gets_one_sentence(tmp_path, monkeypatch, capsys, words, expected):
    monkeypatch.chdir(tmp_path)
    persons(tmp_path, 50)
    assert expected in refused(capsys, "test", "analyse", "persons.csv", *words)


def test_a_file_that_is_not_there(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert "no file" in refused(capsys, "test", "analyse", "none.csv", *OPTIONS, "--epsilon", "1")


def test_a_plan_shows_lengths_and_costs(said):
    words = ("test", "plan", "--base", "0.03", "--lift", "0.05", "--people-per-day", "20000", "--epsilon", "1")
    text = said(*words, "--metrics", "4")
    assert "classical, fixed" in text
    assert "207,935 persons an arm" in text
    assert "without it the test is" in text
    many = said(*words, "--tests-a-month", "10")
    assert many.startswith("10 tests a month on a ledger of epsilon = 1: epsilon = 0.291 for each")
    assert json.loads(said(*words, "--tests-a-month", "10", "--json"))["design"]["epsilon"] == pytest.approx(
        0.291, abs=1e-3
    )
    found = json.loads(said(*words, "--looks", "2", "--json"))
    assert found["look_days"] == [14.0, 29.0]
    assert found["persons_an_arm"]["classical"] == 207_935


def test_a_plan_of_a_design(tmp_path, said, capsys):
    design = {"name": "t", "arms": ["a", "b"], "metrics": [{"kind": "sum", "name": "r", "high": 200, "expected": 2}]}
    (tmp_path / "design.json").write_text(json.dumps(design))
    words = ("test", "plan", "--design", "design.json", "--lift", "0.1", "--people-per-day", "5000")
    assert "r: +-" in said(*words, "--epsilon", "1")
    assert "--tests-a-month" in refused(capsys, *words)
    assert "in the place of --design" in refused(capsys, *words, "--base", "0.1", "--epsilon", "1")
    assert "needs --base" in refused(capsys, "test", "plan", "--lift", "0.1", "--people-per-day", "5", "--epsilon", "1")
    few = ("test", "plan", "--base", "0.1", "--lift", "0.1", "--people-per-day", "5", "--epsilon", "1")
    assert "--metrics must be 1 to 4" in refused(capsys, *few, "--metrics", "9")
