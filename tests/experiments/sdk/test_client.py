"""The Python SDK: it never waits, never raises, and says what it lost."""

import json
import mmap
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import tacit_sdk.client
from tacit_sdk import Client, process
from tacit_sdk.connection import Connection
from tacit_sdk.replies import MOST_NAMED, PER_PERSON, Replies

import forks
from attacks import rows
from experiments.sdk.service import SECRET, TOKEN, lasting, serving
from forks import WAYS

SALT = lasting()["salt"]


@pytest.fixture
def served():
    with serving() as (service, url):
        yield service, url


def made(url, **options):
    return Client(url, TOKEN, "homepage", **{"secret": SECRET, "default": "control", "start": False} | options)


@pytest.fixture
def client(served):
    client = made(served[1])
    client.poll()
    yield client
    client.close(0)


def someone(client, arm):
    """A person who gets this arm."""
    return next(f"user-{n}" for n in range(1000) if client.decide(f"user-{n}").arm == arm)


class Odd(str):
    """A text that cannot be hashed."""

    __hash__ = None


@pytest.mark.parametrize("person", [None, 7, 1.5, b"alice", "", "\ud800", ["a"], Odd("a")])
def test_impossible_persons_get_the_default_arm(client, person):
    client.override("qa", "video")
    assert client.decide(person)[:2] == ("control", None)
    assert client.decide(person).reason == "person"
    assert client.decide("alice").token


def test_without_a_service_it_is_the_default_arm():
    client = made("http://127.0.0.1:9")
    client.poll()
    assert client.decide("alice") == ("control", None, None, "none")
    assert client.counters()["errors"] == {"policy: no answer": 1, "kills: no answer": 1}
    assert not client.reply(client.decide("alice").token, 1)


def test_a_policy_that_did_not_change_is_not_sent_again(served, client):
    service, _ = served
    client.poll()
    asked = [headers.get("If-None-Match") for _, what, headers in service.asked if what == "policy"]
    assert asked[0] is None
    assert asked[1] is not None
    assert client.counters()["policy"]["version"] == 17
    client.poll()
    assert [what for _, what, _ in service.asked] == 3 * ["policy", "kills"], "an empty answer ends its request"


def test_older_and_altered_policies_are_refused(served, client):
    service, _ = served
    held = client.counters()["policy"]
    next_one = lasting(version=18, previous=held["digest"])
    for policy, kind in (
        (lasting(version=16), "older"), (lasting(counting=False), "altered"), (lasting(version=18), "chain"),
        (lasting(experiment="other"), "experiment"), ({**next_one, "upto": [0, 0, 2**32]}, "digest"), ({}, "malformed"),
    ):  # fmt: skip
        service.policy = json.dumps(policy)
        client.poll()
        assert client.counters()["errors"].pop(f"policy: {kind}") == 1
        assert client.counters()["policy"] == held
    service.policy = json.dumps(next_one)
    client.poll()
    assert client.counters()["policy"]["version"] == 18


def test_a_policy_from_a_cdn_or_a_file_gets_no_token(served, tmp_path):
    service, url = served
    client = made("http://127.0.0.1:9", policy_url=f"{url}/public/policy?v=1")
    client.poll()
    assert client.decide("alice").reason == "policy"
    assert all("Authorization" not in headers for _, _, headers in service.asked)
    file = tmp_path / "a policy.json"
    client = made("http://127.0.0.1:9", policy_url=file.as_uri())
    client.poll()
    assert client.decide("alice").reason == "none"
    file.write_text(service.policy)
    client.poll()
    assert client.decide("alice").reason == "policy"


def test_a_bootstrap_file_decides_before_the_first_answer(served, tmp_path):
    file = tmp_path / "policy.json"
    file.write_text(json.dumps(lasting(version=18, previous="")))
    client = made(served[1], bootstrap=file)
    assert client.decide("alice").version == 18
    client.poll()
    assert client.decide("alice").version == 18, "the service has an older one"
    assert client.counters()["errors"] == {"policy: older": 1}
    file.write_bytes(b"\xff")
    assert made(served[1], bootstrap=file).counters()["errors"] == {"policy: malformed": 1}
    assert made(served[1], bootstrap=tmp_path / "none").counters()["errors"] == {"policy: no file": 1}


def test_a_killed_arm_is_the_default_arm_without_a_token(served, client):
    service, _ = served
    person = someone(client, "video")
    service.killed = ["video"]
    client.poll()
    assert client.decide(person) == ("control", None, 17, "killed")
    assert client.decide(someone(client, "short")).token
    service.killed = []
    for fails in ([500], [None, None]):
        service.fails["kills"] = fails
        client.poll()
        assert client.decide(person).reason == "killed", "kills stay while the service is away"
    client.poll()
    assert client.decide(person).arm == "video"
    client.kill("video")
    assert client.decide(person) == ("control", None, 17, "killed")
    client.kill("video", killed=False)
    assert client.decide(person).token
    service.killed = "video"
    client.poll()
    assert client.counters()["errors"]["kills: malformed"] == 1


def test_overrides_and_objections_send_nothing(client):
    person = someone(client, "short")
    client.override(person, "video")
    assert client.decide(person) == ("video", None, 17, "override")
    client.override(person, None)
    assert client.decide(person).arm == "short"
    assert client.decide(person, opt_out=True) == ("control", None, 17, "opted out")


def test_after_close_at_it_is_the_default_arm(client, monkeypatch):
    person, token = someone(client, "video"), client.decide("alice").token
    monkeypatch.setattr(tacit_sdk.client, "time", lambda: 4e10)
    assert client.decide(person) == ("control", None, 17, "closed")
    assert client.reply(token, 1), "the service decides by its own clock what counts"


@pytest.mark.parametrize("value", [0, 1, True, 0.5, np.float32(0.25), np.int64(1), Fraction(1, 3)])
def test_values_that_are_numbers_are_sent(served, client, value):
    assert client.reply(client.decide("alice").token, value)
    assert client.flush()
    assert served[0].rows[-1][2] == pytest.approx(float(value))


@pytest.mark.parametrize("value", [None, "1", Decimal(1), float("nan"), float("inf"), 1.01, -0.01, 10**400, [1], 1j])
def test_other_values_do_not_spoil_a_batch(served, client, value):
    token = client.decide("alice").token
    assert client.reply(token, 1)
    assert not client.reply(token, value)
    assert client.flush()
    assert len(served[0].rows) == 1
    assert client.counters()["dropped"] == {SALT: {"value": 1}}


@pytest.mark.parametrize("token", [7, "", "x", f"{SALT}.\ud800", b"x", f"{SALT}.{SALT.upper()}"])
def test_what_is_no_token_is_counted(client, token):
    assert not client.reply(token, 1)
    assert client.counters()["dropped"] == {"": {"token": 1}}


def test_one_person_cannot_fill_the_queue(served, client):
    token = client.decide("flood").token
    assert sum(client.reply(token, 1) for _ in range(5000)) == PER_PERSON
    assert client.reply(client.decide("other").token, 1)
    assert client.counters()["dropped"] == {SALT: {"person": 5000 - PER_PERSON}}
    assert client.flush()
    assert len(served[0].replies) == 2
    assert client.counters()["sent"] == PER_PERSON + 1
    assert client.reply(token, 1), "there is room again"


def test_a_full_queue_drops_the_oldest_and_names_its_version():
    replies = Replies(3)
    salts = [f"{number:032x}" for number in range(5)]
    for salt in salts:
        assert replies.add(f"{salt}.{SALT}", 1, 0, 1)
    assert replies.dropped() == {salts[0]: {"full": 1}, salts[1]: {"full": 1}}
    assert [row.salt for row in replies.take(9)] == salts[2:]
    assert len(replies) == 3
    assert not replies.add(f"{salts[0]}.{SALT}", 1, 0, 1), "all are under way"
    assert replies.dropped()[salts[0]] == {"full": 2}


def test_invented_versions_fill_no_memory():
    replies = Replies(10)
    for number in range(3000):
        replies.add(f"{number:032x}.{SALT}", 2, 0, 1)
    assert len(replies.dropped()) == MOST_NAMED + 1
    assert replies.dropped()["other"] == {"value": 3000 - MOST_NAMED}


def test_rows_are_sent_again_until_they_are_answered(served, client):
    service, _ = served
    tokens = [client.decide(f"user-{number}").token for number in range(1200)]
    assert all(client.reply(token, 1) for token in tokens)
    service.fails["replies"] = [503, None, None, 401]
    assert [client.flush() for _ in range(5)] == [False, False, False, False, True]
    assert {f"{salt}.{pid}" for salt, pid in service.replies} == set(tokens)
    assert client.counters()["sent"] == 1200
    assert client.counters()["queue"] == 0
    assert client.counters()["errors"] == {"replies: 503": 1, "replies: no answer": 2, "replies: 401": 1}


def test_an_answer_that_is_lost_costs_nothing(served, client):
    service, _ = served
    take = service.take
    service.take = lambda rows: take(rows) and None  # counted, and never answered
    assert client.reply(client.decide("alice").token, 1)
    assert not client.flush()
    service.take = take
    assert client.flush()
    assert len(service.rows) > 1
    assert list(service.replies.values()) == [1]


def test_closed_and_malformed_rows_are_counted_under_their_version(served, client):
    service, _ = served
    other = "ab" * 16
    service.closed = {other}
    pid = client.decide("alice").token.split(".")[1]
    for salt, value in ((other, 1), (SALT, 0.666), (SALT, 1)):
        assert client.reply(f"{salt}.{pid}", value)
    assert client.flush()
    assert client.counters()["dropped"] == {other: {"closed": 1}, SALT: {"malformed": 1}}
    assert client.counters()["sent"] == 1


def test_a_batch_that_is_refused_is_halved_until_one_row_is_left(served, client):
    service, _ = served
    take = service.take
    bad = client.decide("user-333").token.split(".")[1]
    service.take = lambda rows: (422, None, b"") if any(pid == bad for _, pid, _ in rows) else take(rows)
    for number in range(500):
        assert client.reply(client.decide(f"user-{number}").token, 1)
    assert client.flush()
    assert len(service.replies) == 499
    assert client.counters()["dropped"] == {SALT: {"refused": 1}}


def test_strange_answers_raise_nothing(served, client):
    service, _ = served
    for answer in (b"", b"[]", b'{"closed": 3}', b'{"closed": [[], 9, -1, "0", true]}', b"\xff", b"[" * 50_000):
        service.take = lambda rows, answer=answer: (202, None, answer)
        assert client.reply(client.decide("alice").token, 1)
        assert client.flush()
    service.answer = lambda *_: (200, None, b"x" * (2**20 + 1))
    client.poll()
    assert client.reply(client.decide("alice").token, 1)
    assert not client.flush()


def test_threads_poll_and_send_by_themselves(served, monkeypatch):
    monkeypatch.setattr(tacit_sdk.client, "SEND_EVERY", 0.01)
    monkeypatch.setattr(tacit_sdk.client, "KILLS_EVERY", 0.02)
    service, url = served
    with made(url, start=True) as client:
        client.decide("alice")
        service.wait_until(lambda: any(what == "kills" for _, what, _ in service.asked))
        until(lambda: client.decide("alice").token)
        client.reply(client.decide("alice").token, 1)
        service.wait_until(lambda: service.replies)
        service.killed = ["video"]
        until(lambda: client.counters()["killed"] == ["video"])
    assert not client.reply(client.decide("alice").token, 1)
    assert client.counters()["dropped"] == {SALT: {"exit": 1}}


def test_an_answer_whose_headers_drip_is_given_up(served):
    """A CDN that sends a byte now and then would hold the thread that asks for kills for as long as it likes."""
    stop = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def drip():
            with listener.accept()[0] as visitor, suppress(OSError):
                visitor.recv(2**16)
                for byte in b"HTTP/1.1 304 Not Modified\r\nContent-Length: 0\r\nX: " + b"x" * 300 + b"\r\n\r\n":
                    visitor.sendall(bytes([byte]))
                    if stop.wait(0.02):
                        return

        dripping = threading.Thread(target=drip)
        dripping.start()
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(TimeoutError):
            Connection(address, {}, 0.5).ask("GET", "/policy")
        stop.set()
        dripping.join()
    kept = Connection(served[1], {"Authorization": f"Bearer {TOKEN}"}, 2.0)
    for _ in range(3):  # a connection that is kept has its whole time again
        assert kept.ask("GET", "/v1/experiments/homepage/policy").status == 200
    kept.close()


@pytest.mark.slow
def test_a_kill_takes_effect_within_five_seconds(served):
    """With the pauses as they are, and a service that loses every other request."""
    service, url = served
    with made(url, start=True) as client:
        until(lambda: client.decide("alice").token)
        person = someone(client, "video")
        service.fails["kills"] = [500]
        service.killed, began = ["video"], time.monotonic()
        until(lambda: client.decide(person).reason == "killed")
        assert time.monotonic() - began < 5


def until(condition):
    for _ in range(1000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError


def test_closing_sends_what_waits_and_counts_what_cannot_be_sent(served):
    service, url = served
    client = made(url)
    client.poll()
    client._threads = True
    assert client.reply(client.decide("alice").token, 1)
    client.close()
    assert list(service.replies.values()) == [1]
    lonely = made("http://127.0.0.1:9", start=True)
    assert lonely.reply(f"{SALT}.{SALT}", 1)
    began = time.perf_counter()
    lonely.close(0.2)
    assert time.perf_counter() - began < 20
    until(lambda: lonely.counters()["queue"] == 0)
    assert lonely.counters()["dropped"] == {SALT: {"exit": 1}}


def test_many_threads_share_a_client(served, client):
    def work(first):
        for number in range(first, first + 200):
            client.reply(client.decide(f"user-{number}").token, 1)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(0, 1600, 200)))
    assert client.flush()
    assert len(served[0].replies) == 1600


PROGRAM = """
import os, sys, time
from tacit_sdk import Client, process
from tacit_sdk.connection import Connection

client = Client(sys.argv[1], sys.argv[2], "homepage", secret=b"a secret of 32 bytes, for tests.", default="control")
while not client.decide("parent").token:
    time.sleep(0.01)
client.reply(client.decide("parent").token, 0.25)
child = os.fork()
if not child:
    assert client.counters()["queue"] == 0 and client.decide("child").token
    client.reply(client.decide("child").token, 0.5)
    sys.exit()  # what waits is sent on the way out
os.waitpid(child, 0)
"""


def run(url, *, program=PROGRAM, python=sys.executable):
    path = str(Path(tacit_sdk.__file__).parents[1])
    command = [python, "-W", "ignore::DeprecationWarning", "-c", program, url, TOKEN]
    return subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=60)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_after_a_fork_each_process_sends_its_own(served):
    service, url = served
    done = run(url)
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(value for _, _, value in service.rows) == [0.25, 0.5]


@pytest.mark.attack(rows.FORK_BELOW)
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("way", ["libc", "a thread", "a fork inside a fork"])
def test_a_fork_below_python_sends_the_replies_of_the_parent_once(served, way):
    """Measured before: a child that uWSGI forked had no threads and sent no replies, or those of its parent again."""
    service, url = served
    with made(url) as client:
        client.poll()
        client.reply(client.decide("parent").token, 0.25)

        def child():
            first = client.counters()["queue"]
            client.reply(client.decide("child").token, 0.5)
            client.close()
            return [first, client.flush()]

        assert WAYS[way](child) == [0, True]
        client.flush()
        assert client.counters()["sent"] == 1
    assert sorted(value for _, _, value in service.rows) == [0.25]


def in_process_of_its_own(program, url):
    """Return what a program prints; threads of a child that Python did not fork need a parent with few others."""
    folders = [str(Path(tacit_sdk.__file__).parents[1]), str(Path(forks.__file__).parent)]
    command = [sys.executable, "-c", program, url, TOKEN, SECRET]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


THREADS_OF_A_CHILD = """
import sys, threading, time
from forks import first_answer
from tacit_sdk import Client

client = Client(sys.argv[1], sys.argv[2], "homepage", secret=sys.argv[3], default="control", start=False)
client.poll()
honest = Client._renew

def slowly(self):
    honest(self)
    time.sleep(0.2)

def child():
    Client._renew = slowly
    threads = [threading.Thread(target=lambda: client.reply(client.decide("a").token, 0.5)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return client.counters()["queue"]

print(first_answer(child))
"""


@pytest.mark.attack(rows.FORK_BELOW)
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_threads_of_a_child_lose_no_reply(served):
    """Measured before: the thread that came late renewed the clients again, and with them what was sent meanwhile."""
    _, url = served
    assert in_process_of_its_own(THREADS_OF_A_CHILD, url) == "3"


def test_a_page_that_takes_any_advice_is_not_believed(monkeypatch):
    class Page(mmap.mmap):
        def madvise(self, *advice):
            return None

    assert type(process.new_mark()) is mmap.mmap
    monkeypatch.setattr(mmap, "mmap", Page)
    mark = process.new_mark()
    assert isinstance(mark, process.ProcessNumberMark)
    assert mark[0]
    mark[0] = 0
    assert not mark[0]


THREADS_START_AGAIN = """
import sys
from forks import first_answer
from tacit_sdk import Client

client = Client(sys.argv[1], sys.argv[2], "homepage", secret=sys.argv[3], default="control")
client.decide("parent")

def child():
    client.poll()
    client.reply(client.decide("child").token, 0.5)
    client.close(10.0)
    return client.counters()["sent"]

print(first_answer(child))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_threads_start_again_in_a_child_that_python_did_not_fork(served):
    service, url = served
    assert in_process_of_its_own(THREADS_START_AGAIN, url) == "1"
    assert {value for _, _, value in service.rows} == {0.5}


def test_a_signal_handler_may_decide_and_reply(client):
    token = client.decide("alice").token
    old = signal.signal(signal.SIGALRM, lambda *_: client.reply(client.decide("alice").token, 1))
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
    try:
        for _ in range(3000):
            client.reply(token, 1)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    assert client.flush()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"secret": b"short"}, "at least 16 bytes"), ({"default": ""}, "'default'"), ({"token": "a b"}, "token"),
        ({"url": "ftp://x"}, "address"), ({"url": "http://user:word@x"}, "address"), ({"url": "http://"}, "address"),
        ({"experiment": None}, "'experiment'"), ({"policy_url": "policy.json"}, "address"), ({"url": 3}, "address"),
    ],
)  # fmt: skip
def test_a_client_that_cannot_work_is_refused_when_it_is_made(changed, message):
    given = {"url": "http://x", "token": TOKEN, "experiment": "homepage", "secret": SECRET, "default": "control"}
    with pytest.raises(ValueError, match=message) as refused:
        Client(**given | changed)
    assert SECRET.decode() not in str(refused.value)


def test_what_a_client_shows_holds_no_secret_and_no_person(served, client):
    client.reply(client.decide("alice").token, 1)
    shown = repr(client) + json.dumps(client.counters()) + repr(client._replies)
    assert "alice" not in shown
    assert TOKEN not in shown
    assert SECRET.decode() not in shown
    assert client.decide("alice").token.split(".")[1] not in shown
