"""What the page shows of experiments: public things only, escaped, and computed again only when something changed."""

from contextlib import closing

import pytest

from experiments.service.running import unsynced
from experiments.world import World, arm, pid, replies
from tacit_experiments.service.page import experiments as shown
from tacit_experiments.service.page.watch import Watch

ADDRESS = "http://127.0.0.1:8000/"
HOSTILE = "<img src=x onerror=alert(1)>\"'&"


@pytest.fixture
def world(tmp_path):
    with unsynced(), closing(World(tmp_path, epsilon=30.0)) as made:
        yield made


def looked(world):
    watch = Watch(world.store, None, world.experiments)
    watch.look()
    return watch


def run(world, versions, rates=(0.4, 0.8, 0.0), people=300):
    """So many versions of an experiment with little noise, whose arms convert by these rates."""
    world.started(epsilon=20.0, people_per_day=float(people))
    for number in range(versions):
        policy = world.experiments.policy("home")
        came = [
            person
            for person in range(people)
            if pid(person)[0] < "0123456789abcdef"[int(16 * rates[arm(policy, person)])]
        ]
        assert world.experiments.reply("home", replies(policy, came, lambda _: 1)).closed == [], number
        world.move(1)
    world.move(1)


def test_a_draft_says_what_it_would_cost_and_can_be_started(world):
    world.started()
    world.experiments.stop("home")
    page = looked(world).page(ADDRESS)
    assert "charged to people" in page
    assert "per person and month" in page
    assert "Frozen, nothing new counts: stopped." in page
    assert 'data-act="start"' in page
    assert 'data-act="freeze"' not in page
    assert "<b>What is protected.</b> Everything reported about one person" in page
    assert '<section id="learners" aria-labelledby="learners-title" tabindex="-1" hidden>' in page
    assert "There is no learner and no experiment" not in page


def test_shares_effects_and_alerts_come_from_releases(world):
    run(world, 4)
    found = next(iter(looked(world)._state.experiments.values())).view
    stack = list(found.drawn[-1]["shares"].values())
    assert found.found["versions_released"] == 4
    assert abs(sum(stack) - 1) < 1e-6
    assert stack[1] == max(stack) > 1 / 3
    short = found.arms[1]
    assert short.effect.low <= short.effect.middle <= short.effect.high
    assert max(abs(end) for arm in found.arms[1:] for end in (arm.effect.low, arm.effect.high)) == 100
    assert short.effect.text.endswith(" points")
    assert "video has hardly any replies: it may be broken." in found.alerts
    world.experiments.kill("home", "video")
    again = next(iter(looked(world)._state.experiments.values())).view
    assert (again.arms[2].gone, again.arms[2].killable) == ("killed", False)
    assert not any("video" in alert for alert in again.alerts)


def test_only_what_changed_is_computed_again(world, monkeypatch):
    world.started()
    watch = looked(world)
    stamp = watch.changes("")[1]
    monkeypatch.setattr("tacit_experiments.service.page.watch.view", None)  # computing a view would fail
    policy = world.experiments.policy("home")
    world.experiments.reply("home", replies(policy, range(50)))
    watch.look()
    assert watch.changes(stamp)[0] == []  # replies change nothing that is shown
    monkeypatch.undo()
    for act in (
        lambda: world.experiments.kill("home", "video"),
        lambda: world.experiments.expose("home", {policy["salt"]: [3, 2, 1]}),
        lambda: world.move(3),
        lambda: world.experiments.stop("home", end=True),
    ):
        before = watch.changes("")[1]
        act()
        watch.look()
        assert "experiment" in [change.kind for change in watch.changes(before)[0]]


def test_a_new_experiment_appears_and_its_names_are_escaped(world):
    watch = looked(world)
    assert watch.changes("")[0][0].kind == "ledgers"
    name = HOSTILE.replace("/", "")
    world.started(name=name, arms=(name, "b"))
    before = watch.changes("")[1]
    watch.look()
    made, now, _ = watch.changes(before)[0]
    assert (made.kind, now.kind) == ("experiment-made", "experiment")
    for html in (made.content["html"], now.content["html"], watch.page(ADDRESS)):
        assert "<img" not in html
        assert " style=" not in html


def test_what_somebody_should_look_at():
    entry = {"arm": "a", "default": True, "active": True, "reply_rate": None}
    found = {"sample_ratio": "fits", "arms": [entry]}
    about = {
        "state": "running",
        "counting": True,
        "acts": [],
        "versions": [],
        "design": {"days": 1},
        "plan": {"advice": "Only a lift of 90%."},
    }
    assert shown.alerts(about, found, 0) == []
    assert "overdue" in shown.alerts(about, found, 2)[0]
    assert "do not fit" in shown.alerts(about, found | {"sample_ratio": "mismatch"}, 0)[0]
    assert "do not count" in shown.alerts(about | {"counting": False}, found, 0)[0]
    assert "1 version was void" in shown.alerts(about | {"versions": [{"state": "void"}]}, found, 0)[0]
    assert shown.alerts(about | {"state": "draft"}, found, 0) == ["Only a lift of 90%."]
    act = {"act": "froze: the ledger cannot afford it"}
    assert "cannot afford" in shown.alerts(about | {"state": "frozen", "acts": [act]}, found, 0)[0]
