"""The command line: exit code 2 and one sentence, or an answer; never a traceback."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.command import run_command
from fuzz.harness import attempt
from fuzz.strategies import examples

pytestmark = pytest.mark.usefixtures("quick_planner")

TEXTS = st.sampled_from(
    ["0", "1", "-1", "2", "1e308", "nan", "inf", "-inf", "5e-324", "x", "", "1,2", "9" * 30, "0.5", "\x00", "ball"]
)
PLAN = {
    "experts": {"--n": "2", "--epsilon": "1", "--delta": "1e-6", "--horizon": "20", "--relation": "replace"},
    "tracking": {"--n": "2", "--switches": "1", "--epsilon": "1", "--horizon": "20", "--adversary": "stochastic"},
    "bandit": {"--dim": "2", "--epsilon": "1", "--horizon": "50", "--domain": "ball", "--radius": "1"},
}


@pytest.mark.parametrize("kind", PLAN)
@examples(12)
@given(data=st.data())
def test_plan_options(kind, data):
    options = dict(PLAN[kind])
    for name in data.draw(st.lists(st.sampled_from(sorted(options)), max_size=2)):
        options[name] = data.draw(TEXTS)
    code = attempt(lambda: run_command("plan", kind, *(part for pair in options.items() for part in pair)))
    assert code in (0, 2)


@examples(8)
@given(first=TEXTS, second=TEXTS)
def test_other_commands(first, second):
    for arguments in (
        ("simulate", "experts", "--n", first, "--epsilon", "1", "--horizon", "20", "--runs", second),
        ("audit", "experts", "--n", first, "--epsilon", second, "--horizon", "20", "--budget", "0"),
        ("contract", "verify", f"/nowhere/{first}"),
        ("token", "--store", f"/nowhere/{first}", "--scopes", second),
        (first, second),
    ):
        if "1e308" in arguments[-1] or arguments[-1].startswith("999"):
            continue  # as many runs as were asked for would be made
        assert attempt(lambda arguments=arguments: run_command(*arguments)) in (0, 1, 2)
