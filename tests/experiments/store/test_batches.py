"""Requests that wait share one transaction; each gets its own answer or its own error."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tacit.errors import InvalidInput, StoreError
from tacit_experiments.store import batches as module
from tacit_experiments.store.batches import Batches, Request


def together(handle, works):
    """Submit one request that blocks, then the others while it does; the outcomes in order."""
    entered, go, sizes, outcomes = threading.Event(), threading.Event(), [], {}

    def handled(batch):
        sizes.append(len(batch))
        if len(sizes) == 1:
            entered.set()
            go.wait(10)
        handle(batch)

    batches = Batches(handled)

    def client(number, work):
        try:
            outcomes[number] = batches.submit(work)
        except Exception as error:
            outcomes[number] = error

    first = threading.Thread(target=client, args=(-1, lambda _: "first"))
    first.start()
    entered.wait(10)
    others = [threading.Thread(target=client, args=pair) for pair in enumerate(works)]
    for thread in others:
        thread.start()
    while len(batches._waiting) < len(works):
        threading.Event().wait(0.001)
    go.set()
    for thread in (first, *others):
        thread.join(10)
    return sizes, [outcomes[number] for number in sorted(outcomes)]


def answer(batch):
    for request in batch:
        try:
            request.answer = request.work(None)
        except InvalidInput as error:
            request.error = error


def refuse(_):
    raise InvalidInput("Refused.")


def test_whoever_waits_is_served_together():
    sizes, outcomes = together(answer, [lambda _, n=n: n for n in range(5)])
    assert sizes == [1, 5]
    assert outcomes == ["first", 0, 1, 2, 3, 4]


@pytest.mark.parametrize(("error", "words"), [(StoreError("disk full"), "disk full"), (MemoryError(), "MemoryError")])
def test_a_transaction_that_fails_fails_for_all_and_the_next_one_goes_on(error, words):
    def failing(batch):
        if len(batch) > 1:
            raise error
        answer(batch)

    _, outcomes = together(failing, [lambda _: 0, lambda _: 1])
    assert outcomes[0] == "first"
    errors = outcomes[1:]
    assert sum(type(found) is type(error) for found in errors) >= 1
    assert all(words in repr(found) for found in errors)
    assert errors[0] is not errors[1]


def test_a_thread_that_breaks_off_leaves_nobody_waiting():
    def interrupted(batch):
        raise KeyboardInterrupt

    batches = Batches(interrupted)
    with pytest.raises(KeyboardInterrupt):
        batches.submit(lambda _: 0)
    batches._handle = answer
    assert batches.submit(lambda _: 7) == 7


@pytest.mark.parametrize("place", ["before", "after"])
def test_an_interrupt_where_no_error_can_be_left_is_nobodys_answer(place, monkeypatch):
    """Ctrl-C in the main thread, which serves another thread as well: that one was promised nothing."""
    serve = Batches._serve

    def interrupted(self, batch):
        if len(batch) == 1:
            return serve(self, batch)
        if place == "after":  # the work was done, but the transaction not committed
            answer(batch)
        raise KeyboardInterrupt

    monkeypatch.setattr(Batches, "_serve", interrupted)
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    _, outcomes = together(answer, [lambda _: 0, lambda _: 1])
    assert outcomes[0] == "first"
    assert [type(found) for found in outcomes[1:]] == [StoreError]  # the other one was interrupted


def test_whoever_was_there_a_moment_ago_is_waited_for(monkeypatch):
    """Clients that ask again at once stay together: else two groups take turns, and everybody waits for both."""
    monkeypatch.setattr(module, "LONGEST", 2.0)  # longer than a busy machine keeps a thread waiting
    monkeypatch.setattr(module, "PART", 1000.0)
    sizes = []

    def handled(batch):
        sizes.append(len(batch))
        threading.Event().wait(0.01)
        answer(batch)

    batches = Batches(handled)
    barrier = threading.Barrier(6)

    def client(_):
        barrier.wait(10)
        for _ in range(10):
            batches.submit(lambda _: 0)

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(client, range(6)))
    assert sum(sizes) == 60
    assert len(sizes) <= 12  # two groups would need twenty


def test_a_thread_that_is_interrupted_in_its_sleep_hands_on_its_turn(monkeypatch):
    """It was called to serve the others just when it was interrupted."""
    sleep = Request.sleep

    def interrupted(self):
        sleep(self)
        if self.work(None) == 0:
            raise KeyboardInterrupt

    monkeypatch.setattr(Request, "sleep", interrupted)
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    sizes, outcomes = together(answer, [lambda _: 0, lambda _: 1, lambda _: 2])
    assert outcomes == ["first", 1, 2]
    assert sizes in ([1, 2], [1, 3])  # the one that was interrupted need not be the one that was called


def test_requests_without_a_thread_of_their_own_share_transactions_with_the_others():
    held, go, sizes = threading.Event(), threading.Event(), []

    def handled(batch):
        sizes.append(len(batch))
        held.set()
        go.wait(10)
        answer(batch)

    batches = Batches(handled)
    with ThreadPoolExecutor(2) as threads:
        first = batches.later(lambda _: "first", threads.submit)
        held.wait(10)
        others = [batches.later(work, threads.submit) for work in (lambda _: 1, refuse, lambda _: 3)]
        given_up = batches.later(lambda _: pytest.fail("nobody wants it any more"), threads.submit)
        waiting = threads.submit(batches.submit, lambda _: "in a thread")
        while len(batches._waiting) < 5:
            threading.Event().wait(0.001)
        assert given_up.cancel()
        go.set()
        assert first.result(10) == "first"
        assert (others[0].result(10), others[2].result(10), waiting.result(10)) == (1, 3, "in a thread")
        with pytest.raises(InvalidInput, match="Refused"):
            others[1].result(10)
    assert sizes == [1, 4]


def test_where_no_thread_is_given_any_more_those_who_wait_are_served_all_the_same():
    threads = ThreadPoolExecutor(1)
    threads.shutdown()
    assert Batches(answer).later(lambda _: 7, threads.submit).result(10) == 7
