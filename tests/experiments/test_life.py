"""The life of an experiment: draft, running, frozen, ended; versions, months, arms and kills."""

import gzip
from itertools import pairwise
from pathlib import Path

import pytest

import tacit
import tacit_experiments
from experiments.world import ARMS, DAY, arm, pid, replies
from tacit.errors import Conflict, InvalidInput, PrivacyError
from tacit_experiments.design import Design
from tacit_experiments.experiments import Experiments
from tacit_experiments.policy import seconds


def charges(world):
    return [entry.name for entry in world.store.ledger("people").entries]


def test_a_draft_is_free(world):
    made = world.experiments.make(Design("home", ARMS, epsilon=1.0, ledger="people", days=7))
    assert (made["state"], made["version"], charges(world)) == ("draft", None, [])
    assert "one calendar month" in made["contract"]
    assert made["plan"]["noise"]["deviation_in_persons"] == pytest.approx(7.07, rel=0.01)
    with pytest.raises(InvalidInput, match="never started"):
        world.experiments.policy("home")
    with pytest.raises(Conflict, match="already"):
        world.experiments.make(Design("home", ARMS, epsilon=1.0, ledger="people"))
    with pytest.raises(InvalidInput, match="no ledger"):
        world.experiments.make(Design("other", ARMS, epsilon=1.0, ledger="nobody"))
    world.store.ledger("daily", epsilon=1.0, renews="daily")
    with pytest.raises(InvalidInput, match="monthly, or never"):
        world.experiments.make(Design("other", ARMS, epsilon=1.0, ledger="daily"))
    with pytest.raises(InvalidInput, match="no experiment"):
        world.experiments.policy("other")


def test_versions_follow_each_other_and_months_are_charged(world):
    first = world.started()
    assert first["upto"][-1] == 2**32
    assert first["upto"][0] == pytest.approx(2**32 / 3, abs=1)
    policies = [first]
    for _ in range(40):
        world.experiments.reply("home", replies(policies[-1], range(30), lambda n: float(arm(policies[-1], n) == 1)))
        world.move(1)
        policies.append(world.experiments.policy("home"))
    assert [policy["version"] for policy in policies] == list(range(1, 42))
    assert all(new["previous"] == old["digest"] for old, new in pairwise(policies))
    assert len({policy["salt"] for policy in policies}) == 41
    assert charges(world) == ["experiment home, 2026-11", "experiment home, 2026-12"]
    released = world.experiments.releases("home")
    assert [release["version"] for release in released] == list(range(1, len(released) + 1))
    assert len(released) == 39  # a day and a window of a day are over
    assert policies[-1]["head"] == released[-1]["head"]
    for policy in policies:
        assert seconds(policy["close_at"]) == seconds(policy["serve_until"]) + DAY - 60


def test_a_week_serves_six_days_and_rests_one(world):
    policy = world.started(days=7)
    assert seconds(policy["close_at"]) - seconds(policy["serve_from"]) == 7 * DAY - 60
    world.move(6)
    pause = world.experiments.policy("home")
    assert (pause["counting"], pause["upto"]) == (False, policy["upto"])
    assert world.experiments.reply("home", replies(policy, range(3))).closed == []
    assert world.experiments.reply("home", replies(pause, range(3))).closed == [0, 1, 2]
    assert world.move(1) == {"released": 1, "void": 0, "opened": 1}
    assert world.experiments.policy("home")["counting"]
    assert world.experiments.policy("home")["head"] == world.experiments.releases("home")[0]["head"]


def test_freezing_instead_of_errors(world):
    world.started()
    world.experiments.make(Design("other", ARMS, epsilon=1.0, ledger="people", days=1))
    with pytest.raises(PrivacyError, match="budget"):
        world.experiments.start("other")
    assert world.experiments.describe("other")["state"] == "draft"
    world.experiments.stop("home")
    world.move(30)
    world.experiments.start("other")  # December
    world.experiments.stop("other")
    for _ in range(3):
        world.move(1)
    policy = world.experiments.policy("home")
    assert not policy["counting"]
    with pytest.raises(PrivacyError):
        world.experiments.start("home")  # the other one has spent December
    assert world.experiments.policy("home") == policy
    world.experiments.start("other")  # resumed in the same month: charged once
    assert charges(world) == ["experiment home, 2026-11", "experiment other, 2026-12"]
    world.time += 29 * DAY
    world.experiments.start("home")  # January, before the other one
    world.experiments.tick()
    frozen = world.experiments.describe("other")
    assert frozen["state"] == "frozen"
    assert "froze" in frozen["acts"][-1]["act"]
    assert not world.experiments.policy("other")["counting"]


def test_arms_come_and_go_and_are_killed(world):
    policy = world.started()
    world.experiments.change_arms("home", "ada", add=["big"], remove=["video"], min_share=0.02)
    assert world.experiments.policy("home") == policy
    world.experiments.kill("home", "short", "ada")
    assert world.experiments.kills("home") == {"format": "tacit-kills/1", "experiment": "home", "killed": ["short"]}
    assert world.experiments.policy("home") == policy  # no new version, no privacy cost
    world.move(1)
    changed = world.experiments.policy("home")
    assert changed["arms"] == ["control", "short", "video", "big"]
    ends = changed["upto"]
    assert ends[0] == ends[1] == ends[2] == 2**31
    for wrong in (
        {"add": ["video"]},
        {"remove": ["control"]},
        {"remove": ["big"]},
        {"add": ["a/b"]},
        {"remove": ["none"]},
        {"min_share": 0.6},
    ):
        with pytest.raises(InvalidInput):
            world.experiments.change_arms("home", **wrong)
    with pytest.raises(InvalidInput, match="default arm cannot be killed"):
        world.experiments.kill("home", "control")
    acts = [act["act"] for act in world.experiments.describe("home")["acts"]]
    assert acts[2:] == ["added big; removed video; set the least share to 0.02", "killed short"]


def test_an_experiment_ends(world):
    world.started()
    with pytest.raises(InvalidInput, match="when the experiment ends"):
        world.experiments.stop("home", promote="short")
    world.experiments.stop("home", end=True, promote="short")
    policy = world.experiments.policy("home")
    assert (policy["upto"], policy["counting"]) == ([0, 2**32, 2**32], False)
    for act in (world.experiments.start, world.experiments.stop):
        with pytest.raises(Conflict, match="ended"):
            act("home")
    with pytest.raises(Conflict, match="ended"):
        world.experiments.change_arms("home", add=["more"])
    assert world.move(3)["released"] == 1
    assert world.experiments.policy("home") == policy


def test_the_better_arm_gets_more(world):
    policy = world.started(people_per_day=900.0, score=0.3)
    for _ in range(6):
        better = [n for n in range(900) if arm(policy, n) == 1 or n % 10 == 0]
        world.experiments.reply("home", replies(policy, better, lambda n: 1.0))
        world.move(1)
        policy = world.experiments.policy("home")
    found = world.experiments.results("home")
    short = found["arms"][1]
    assert found["versions_released"] == 5
    assert (short["verdict"], short["share"] > 0.6) == ("better", True)
    assert short["effect"]["low"] > 0
    assert short["effect"]["low"] < 0.9 < short["effect"]["high"]
    assert short["lift"] is None or short["lift"]["high"] > short["lift"]["low"] > 0
    assert short["reply_rate"]["estimate"] == pytest.approx(1.0, abs=0.5)
    assert found["sample_ratio"] == "not counted"


def test_a_sample_ratio_that_does_not_fit_keeps_the_shares(world):
    policy = world.started()
    world.experiments.expose("home", {policy["salt"]: [340, 330, 330]})
    assert world.experiments.results("home")["sample_ratio"] == "fits"
    world.experiments.expose("home", {policy["salt"]: [300, 300, 0]})
    found = world.experiments.results("home")
    assert (found["sample_ratio"], found["arms"][0]["persons"]) == ("mismatch", 640)
    for _ in range(3):
        newest = world.experiments.policy("home")
        world.experiments.reply(
            "home", replies(newest, range(300), lambda n, newest=newest: float(arm(newest, n) == 1))
        )
        world.move(1)
    assert world.experiments.policy("home")["upto"] == policy["upto"]
    for wrong in (
        {"no": [1]},
        {policy["salt"]: [1]},
        {policy["salt"]: [1, 2, -1]},
        {policy["salt"]: [1, 2, True]},
        {pid(1): [1, 2, 3]},
    ):
        with pytest.raises(InvalidInput, match="Persons are counted"):
            world.experiments.expose("home", wrong)


def test_the_charge_of_an_experiment_is_not_voided(world):
    world.started()
    with pytest.raises(InvalidInput, match="cannot be void"):
        world.store.ledger("people").void(0, "a mistake")


def test_a_learner_of_arms_that_0_2_wrote_becomes_a_draft(tmp_path):
    """The second of three arms had all of the later half of 300 rounds; nothing but decisions is read."""
    old = Path(__file__).with_name("arms-0.2.db.gz")
    path = tmp_path / "decisions.db"
    path.write_bytes(gzip.decompress(old.read_bytes()))
    path.with_name("decisions.db.mark").write_bytes(old.with_suffix("").with_suffix(".db.mark").read_bytes())
    asked = {"epsilon": 1.0, "ledger": "everyone", "days": 1}
    with tacit_experiments.Store(path) as store, Experiments(store) as experiments:
        store.ledger("everyone", epsilon=1.0, renews="monthly")
        before = store.export("page")
        draft = experiments.import_arms("page", Design("page", ARMS, **asked))
        assert (draft["state"], store.export("page")) == ("draft", before)
        assert draft["design"]["shares"] == pytest.approx([0.2, 1 - 0.2 - 0.01 / 3, 0.01 / 3])
        experiments.start("page")
        assert experiments.policy("page")["upto"] == [
            int(2**32 * end + 0.5) for end in (0.2, 1 - 0.01 / 3, 1)
        ]  # fmt: skip
        best = experiments.import_arms("page", Design("best", ARMS, goal="optimise", min_share=0.1, **asked))
        assert best["design"]["shares"] == pytest.approx([0.1, 0.8, 0.1])
        for wrong, arms in (("page", ("a", "b")), ("nobody", ARMS)):
            with pytest.raises(InvalidInput, match="learner"):
                experiments.import_arms(wrong, Design("other", arms, **asked))
        with pytest.warns(DeprecationWarning, match="tacit experiments import"):
            assert store.open("page").rounds == 300  # it goes on with the plan that it had
        with pytest.warns(DeprecationWarning, match="tacit experiments import"):
            store.open("new", tacit.Arms(n=3, horizon=50), epsilon=1.0, delta=0.0)
        idle = experiments.import_arms("new", Design("idle", ARMS, **asked))
        assert idle["design"]["shares"] is None


def test_first_shares_are_kept_until_there_is_a_release(world):
    policy = world.started(shares=(0.9, 0.1, 0.0))
    assert policy["upto"] == [int(2**32 * 0.9 + 0.5), 2**32, 2**32]
    world.experiments.change_arms("home", add=["big"], remove=["short"])
    world.move(1)
    assert world.experiments.policy("home")["upto"] == pytest.approx([2**32 * 0.9 / (0.9 + 1 / 3)] * 3 + [2**32], abs=2)
    for shares in ((0.5, 0.5), (0.5, 0.6, 0.1), (1.5, -0.5, 0.0), (float("nan"), 0.5, 0.5), "abc"):
        with pytest.raises(InvalidInput, match="shares"):
            Design("other", ARMS, epsilon=1.0, ledger="people", shares=shares)
