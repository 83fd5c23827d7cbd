"""The attacks that docs/attacks.md lists, and which check of the contract of learners tries which of them."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "attacks.md"

COPY = "copy or pickle a learner on buffered sums"
SHARE = "one `Randomness.secret()` for two learners or two fits"
RESTORE = "restore one state twice, or roll back to it"
FORK = "`os.fork`, multiprocessing, joblib"
RAISE = "a loss or a bandit's value that sees the decision and then raises"
STEAL = "steal a state in round 500"
INTERRUPT = "interrupt `observe` (Ctrl-C, a time limit)"
FORGE = "forge a state: set the round back, put NaN into sums, call a replayable one secret"
PICKLE = "pickle an estimator between two calls of `partial_fit`"
SWITCHES = "ask for `max_switches=0` with `horizon=None`"
NAMED = "send a loss outside its range"
NUMPY = 'tell numpy to raise: `np.seterr(all="raise")`'
LAWS = "compare the laws of two neighbouring streams (`tacit.audit`)"
DIGITS = "look for outputs that only one of two neighbours can have"

CHECKED = {
    "secrets_are_not_copied": COPY,
    "replayables_copy_faithfully": COPY,
    "shared_secrets_share_no_noise": SHARE,
    "secret_states_continue_with_fresh_noise": RESTORE,
    "another_process_is_refused": FORK,
    "shown_decisions_are_not_taken_back": RAISE,
    "secret_states_hold_no_keys": STEAL,
    "half_rounds_are_not_continued": INTERRUPT,
    "interrupted_runs_are_undone": INTERRUPT,
    "foreign_states_are_refused": FORGE,
    "edited_states_are_refused": FORGE,
    "forged_states_are_refused": FORGE,
    "bad_feedback_changes_nothing": NAMED,
    "settings_of_numpy_change_nothing": NUMPY,
}


def listed() -> list[str]:
    """The attacks of the page's tables, in its order."""
    rows: list[str] = []
    for table in re.findall(r"\| attack \|.*?\n\|---.*?\n((?:\|.*\n)+)", PAGE.read_text()):
        rows += [line.split(" | ")[0].removeprefix("| ") for line in table.splitlines()]
    return rows
