"""The attacks of docs/attacks.md, what each is tried on, and which check of the contract of learners tries which."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "attacks.md"

COPY = "copy or pickle a learner on buffered sums"
SHARE = "one `Randomness.secret()` for two learners or two fits"
RESTORE = "restore one state twice, or roll back to it"
FORK = "`os.fork`, multiprocessing, joblib"
FORK_BELOW = "fork below Python: uWSGI, libc's `fork`, a bare system call"
FORK_LEDGER = "charge one ledger in memory from several forked workers"
RAISE = "a loss or a bandit's value that sees the decision and then raises"
STEAL = "steal a state in round 500"
INTERRUPT = "interrupt `observe` (Ctrl-C, a time limit)"
FORGE = "forge a state: set the round back, put NaN into sums, call a replayable one secret"
PICKLE = "pickle an estimator between two calls of `partial_fit`"
SWITCHES = "ask for `max_switches=0` with `horizon=None`"
NAMED = "send a loss outside its range"
BUFFER = "write to an array while a call reads it (shared memory, a mapped file, another thread)"
NUMPY = 'tell numpy to raise: `np.seterr(all="raise")`'
LAWS = "compare the laws of two neighbouring streams (`tacit.audit`)"
DIGITS = "look for outputs that only one of two neighbours can have"
# Against learners that decide by features.
LONG_FEATURES = "send features that are far too long, or not finite"
BILLBOARD = "read a person's features or losses off what others are shown"
# Against a fleet.
AGAIN = "make the engine run a batch again (kill it, slow a task down)"
OTHER_ROWS = "send other rows for the same batch, and have it run again"
OLDER_STATE = "put an older state back and send the same rows"
TWO_KEYS = "the same rows under two keys"
COPIED_STATE = "copy a state to another learner, edit it, cut it"
TWICE = "send a row twice, in one batch or in two"
NO_KEY = "send a row whose key is null, or a text that is none"
ORDER = "arrange duplicates so that the order of arrival decides"
ROOT = "look for the key in tasks, plans, logs, checkpoints, exceptions"
UNBOUND = "draw from the sealed key itself, or twice from one batch"
FORKED_BATCH = "fork in the middle of a batch"
# Against a store and its service.
OLDER_COPY = "put an older copy of the database back"
WRITERS = "write from two processes, threads or forks at once"
BROKEN_COMMIT = "let a commit fail, or a process die, after the learner moved on"
COUNTED = "count feedback by exports, metrics, pages or logs"
QUOTED = "send private values and look for them in answers, errors and logs"
TOKENS = "come without a token, or with a wrong, expired, revoked or second one, or one of another scope"
REPEATED = "ask again under the same key, or settle a round again"
SEEDED = "ask for a learner that was made with a seed"
STOPPED = "keep everybody else waiting: by a learner that is too large, or by many readers and viewers of one token"
# Against tables, pipelines and searches of estimators.
CELLS = "put any cell into a table: odd types, missing values, words among numbers"
WORDS = "make a step of a pipeline raise, or warn, about a cell"
SCORES = "move a score by one record: rows that overflow, margins that are no numbers, labels nobody declared"
# Against experiments.
FLOODED = "send replies again, in floods, spoilt, or in another order"
LATE = "reply while a version is closed, or after, or to a version that another worker opened"
RELEASED = "have a version released again, from a restored copy or by a rival"
GUESSED = "tell from an answer, or from what it wrote, who replied before"

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
    "changing_memory_changes_nothing": BUFFER,
    "settings_of_numpy_change_nothing": NUMPY,
    "sealed_batches_repeat": AGAIN,
}

STATISTICS = "move a statistic or a score by one extreme record"

LEARNERS, ESTIMATORS, STORE, SERVICE, FLEET = "learners", "estimators", "store", "service", "fleet"
TABLE = "PublicTable"
FOLDERS = {"experiments": STORE, "experiments/service": SERVICE, "experiments/fleet": FLEET}
"""What the tests of a folder attack, unless they say more."""
TRIED_ON: dict[str, tuple[str, ...]] = {
    **dict.fromkeys((COPY, FORGE, DIGITS, LAWS, AGAIN), (LEARNERS,)),
    **dict.fromkeys((SHARE, FORK, NAMED), (LEARNERS, ESTIMATORS)),
    **dict.fromkeys((RESTORE, STEAL), (LEARNERS, STORE)),
    INTERRUPT: (LEARNERS, "PrivateLogisticRegression", "PrivateLinearSVC", "PrivateRidge"),
    RAISE: ("BanditFW", "PrivateFTRL", "CTRL", "OnlineToBatch", "AveragedFTRL"),
    PICKLE: ("PrivateLogisticRegression", "PrivateLinearSVC", "PrivateRidge"),
    SWITCHES: (LEARNERS,),
    CELLS: (TABLE,),
    WORDS: ("PrivatePipeline", "PrivateGridSearch"),
    SCORES: ("PrivateGridSearch",),
    STATISTICS: ("PrivateMean", "PrivateHistogram", "PrivateQuantile", "PrivateCovariance", "PrivateScore"),
    **dict.fromkeys((LONG_FEATURES, BILLBOARD), ("ExploreLinear",)),
    BUFFER: (LEARNERS, ESTIMATORS, FLEET),
    NUMPY: (LEARNERS, "PrivateLogisticRegression", "PrivateLinearSVC", "PrivateRidge", "PrivateStandardScaler"),
    **dict.fromkeys((OTHER_ROWS, OLDER_STATE, TWO_KEYS, TWICE, ORDER, ROOT, COPIED_STATE), (FLEET,)),
    **dict.fromkeys((OLDER_COPY, WRITERS, BROKEN_COMMIT), (STORE,)),
    **dict.fromkeys((COUNTED, QUOTED, REPEATED, SEEDED), (STORE, SERVICE)),
    **dict.fromkeys((TOKENS, STOPPED), (SERVICE,)),
    **dict.fromkeys((FLOODED, LATE, RELEASED, GUESSED), (STORE,)),
}
"""Every algorithm of the catalogue, every estimator, one thing, or single ones; rows that are not here: anything."""


def listed() -> list[str]:
    """The attacks of the page's tables, in its order."""
    rows: list[str] = []
    for table in re.findall(r"\| attack \|.*?\n\|---.*?\n((?:\|.*\n)+)", PAGE.read_text()):
        rows += [line.split(" | ")[0].removeprefix("| ") for line in table.splitlines()]
    return rows
