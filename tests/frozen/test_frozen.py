"""What 0.3 computed, line by line: plans, decisions, verdicts, contracts and saved states.

The files lie in `0.3/` and were written once, by `scripts/freeze.py`. A test that fails names the
file, the line and the field. No test writes there: a change that is meant changes the line by hand,
and its commit says why.
"""

import json

import pytest

from frozen import lines
from frozen.expressions import evaluate, expression
from tacit.planning.contract import FORMAT

PLANS = lines.read("plans.txt")
DECISIONS = lines.read("decisions.txt")
VERDICTS = lines.read("verdicts.txt")
STATES = lines.read_folder("states")
OF_FORMAT = ("format", "noise", "tacit")
"""Fields of a contract that its format decides: the other ones are those of the plan."""


def each(entries, slow="slow"):
    """Parametrise a test by entries; slow ones are left to `make test-all`."""
    marked = []
    for entry in entries:
        marks = pytest.mark.slow if entry[slow] else ()
        marked.append(pytest.param(entry, id=entry["name"], marks=marks))
    return pytest.mark.parametrize("entry", marked)


def assert_same(file, entry, found, tolerance=None):
    """Fail with one line for each field that differs."""
    allowed = lines.tolerance() if tolerance is None else tolerance
    changed = list(lines.differences(entry, found, allowed))
    assert not changed, "\n".join(f"{file}, {entry['name']}: {change}" for change in changed)


def strip(contract):
    """Return a contract without what its format decides, also in its epochs."""
    if isinstance(contract, list):
        return [strip(part) for part in contract]
    if not isinstance(contract, dict):
        return contract
    return {name: strip(part) for name, part in contract.items() if name not in OF_FORMAT}


def needs_the_same_epochs(entry):
    """Skip a state of epochs where they are planned with other last digits, hence not read."""
    if entry["plan"] is None and not lines.same_bits():
        pytest.skip("epochs that are planned on another processor are other epochs")


def contract_in(entry):
    """Return the contract of an entry as it was written."""
    return json.loads((lines.ROOT / "contracts" / entry["file"]).read_text())


def test_every_algorithm_is_frozen():
    """The reference has at least what was promised of it."""
    made = {entry["plan"].partition("(")[0] for entry in PLANS if entry["plan"]}
    grid = [entry for entry in PLANS if entry["name"].startswith("grid")]
    assert len(grid) >= 147
    assert len(PLANS) - len(grid) >= 61
    assert len(DECISIONS) >= 63 + 56
    assert len(made) == 28
    assert len({entry["plan"].partition("(")[0] for entry in STATES if entry["plan"]}) == 28
    contracts = {path.name for path in (lines.ROOT / "contracts").iterdir()}
    assert contracts == {entry["file"] for entry in VERDICTS}


@each(PLANS)
def test_plans(entry):
    """A plan of the same parameters has the same guarantee, certificate and audits."""
    assert_same("plans.txt", entry, lines.plan_fields(lines.plan_of(entry)))


@pytest.mark.slow
@each([entry for entry in PLANS if entry["asked"] and entry["plan"]])
def test_calibrations(entry):
    """The same problem and target give the same parameters."""
    found = {"plan": expression(evaluate(entry["asked"]))}
    assert_same("plans.txt", entry, found, lines.tolerance_of_searches())


@each(DECISIONS)
def test_decisions(entry):
    """The same noise gives the same decisions: round by round, as an array, and settled late."""
    found = lines.decision_fields(lines.plan_of(entry), entry["rounds"])
    assert_same("decisions.txt", entry, found)


@each(VERDICTS, "slow verdict")
def test_verdicts(entry):
    """The second accountant says the same of a contract that 0.3 wrote."""
    assert_same("verdicts.txt", entry, lines.verdict_fields(contract_in(entry)))


@each(VERDICTS)
def test_contracts(entry):
    """A plan states the same contract, apart from what the format of contracts decides."""
    frozen = contract_in(entry)
    stated = json.loads(json.dumps(lines.contract_of(lines.plan_of(entry), entry["name"])))
    assert_same(entry["file"], {**strip(frozen), "name": entry["name"]}, strip(stated))
    assert set(strip(stated)) == set(strip(frozen))
    if stated["format"] == frozen["format"] == FORMAT:
        assert_same(entry["file"], {**frozen, "name": entry["name"]}, {"noise": stated["noise"]})


@each(STATES)
def test_states(entry):
    """A saved state continues: a replayable one as it would have, a secret one on sealed noise."""
    needs_the_same_epochs(entry)
    learner = lines.restored(lines.plan_of(entry), entry["kind"], entry["state"])
    assert_same("states", entry, lines.following(learner, entry))


@each([entry for entry in STATES if "packed" in entry])
def test_packed_states(entry):
    """The bytes of a state, as engines keep them, continue as the state does."""
    needs_the_same_epochs(entry)
    learner = lines.unpacked(lines.plan_of(entry), entry)
    assert_same("states, packed", entry, lines.following(learner, entry))


def test_one_changed_number_is_found():
    """Whatever number of a line is changed, the line and the field are named."""
    entry = next(entry for entry in PLANS if entry["plan"] and not entry["slow"])
    found = lines.plan_fields(lines.plan_of(entry))
    assert list(lines.differences(entry, found, lines.tolerance())) == []
    numbers = [name for name, value in found.items() if isinstance(value, float) and value > 0]
    assert len(numbers) > 3
    for name in numbers:
        changed = {**entry, name: found[name] * (1 + 2.0**-52)}
        (difference,) = lines.differences(changed, {name: found[name]}, 0.0)
        assert difference.startswith(f"{name}: saved ")
    (difference,) = lines.differences({**entry, "theorem": "none"}, found, lines.tolerance())
    assert difference.startswith("theorem: saved 'none'")


def test_elsewhere_digits_may_differ_and_options_may_not():
    """On another processor numbers agree to seven digits, texts of numbers too, options exactly."""
    saved = {"epsilon": 1.0, "plan": "LazyExperts(eta=0.1, n=3)", "switches": 7}
    saved |= {"loop": f"options {'ab' * 32}", "array": f"points {'ab' * 32}"}
    close = {**saved, "epsilon": 1.0 + 1e-12, "plan": "LazyExperts(eta=0.10000000000000002, n=3)"}
    assert list(lines.differences(saved, close, lines.ELSEWHERE)) == []
    assert len(list(lines.differences(saved, close, 0.0))) == 2
    points = {"array": f"points {'ba' * 32}"}
    assert list(lines.differences(saved, points, lines.ELSEWHERE)) == []
    assert len(list(lines.differences(saved, points, 0.0))) == 1
    for name, value in (
        ("epsilon", 1.001),
        ("plan", "LazyExperts(eta=0.1, n=4)"),
        ("loop", f"options {'ba' * 32}"),
        ("switches", 8),
    ):
        assert len(list(lines.differences(saved, {name: value}, lines.ELSEWHERE))) == 1
