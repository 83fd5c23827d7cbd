"""Whoever looks at the page is told what changes, until the service ends."""

import asyncio
import json
import threading
import time

import httpx

from server.page.world import PROBLEM, TARGET, fill
from server.running import running
from tacit.errors import StoreError
from tacit.server.http import COOKIE, Problem
from tacit.server.page import watch as streaming
from tacit.server.page.watch import Events, Watch


def events(answer):
    """The events of an answer as they come: kind and content."""
    kind = None
    for line in answer.iter_lines():
        name, _, value = line.strip().partition(": ")
        if name == "event":
            kind = value
        elif name == "data":
            yield kind, json.loads(value)


async def allowed():
    """Whoever looks may."""


def test_a_decision_is_told_within_seconds_and_the_service_ends_all_the_same(tmp_path):
    with httpx.Client(timeout=20) as client:
        with running(tmp_path / "decisions.db") as service:
            live = service.store.open("homepage", PROBLEM, **TARGET)
            cookie = {"Cookie": f"{COOKIE}={service.token}"}
            request = client.build_request("GET", f"{service.url}/events", headers=cookie)
            answer = client.send(request, stream=True)
            assert answer.status_code == 200
            assert answer.headers["content-type"].startswith("text/event-stream")
            assert answer.headers["x-accel-buffering"] == "no"
            found = events(answer)
            assert next(found)[0] == "learners"
            live.decide()
            kind, content = next(found)
            assert kind == "learners"
            assert "1 of 100,000" in content["html"]
            start = time.monotonic()
        assert list(found) == []
        assert time.monotonic() - start < 20  # else it was cut off


def test_viewers_share_one_look_and_leave_nothing_behind(store):
    fill(store, 2, 20)
    stream, begun = Events(Watch(store), 9, tick=0.01), []
    look = stream._look
    stream._look = lambda: begun.append(None) or look()

    async def view():
        viewer = stream.stream("", 1, closing, allowed)
        told = [await anext(viewer) for _ in range(2)]
        await viewer.aclose()
        return "".join(told)

    async def main():
        both = await asyncio.gather(view(), view())
        assert not stream._viewers
        assert stream._task is not None
        async with asyncio.timeout(60):
            await stream._task  # it ends because nobody looks
        return both

    closing = threading.Event()
    first, second = asyncio.run(main())
    assert first.count("event: learners") == second.count("event: learners") == 1
    assert len(begun) == 1


def test_a_store_that_does_not_answer_is_told_and_forgiven(store):
    watch = Watch(store)
    answers = [StoreError("gone"), None, None, None]

    def look(*_, **__):
        answer = answers.pop(0) if answers else None
        if answer is not None:
            raise answer

    watch.look = look
    stream = Events(watch, 9, tick=0.01)

    async def main():
        told = []
        async for text in stream.stream("", 1, threading.Event(), allowed):
            told.append(text)
            if "event: fine" in text:
                return "".join(told)

    told = asyncio.run(main())
    assert told.index("event: trouble") < told.index("event: fine")
    assert "gone" not in told


def test_silence_is_broken_and_whoever_may_not_look_any_more_is_let_go(store, monkeypatch):
    monkeypatch.setattr(streaming, "BEAT", 0.02)
    monkeypatch.setattr(streaming, "TRUST", 0.2)
    stream, checks = Events(Watch(store), 9, tick=0.01), []

    async def check():
        checks.append(None)
        if len(checks) == 3:
            raise Problem(401, "This token was revoked.")

    async def main():
        async with asyncio.timeout(20):
            return [text async for text in stream.stream("", 1, threading.Event(), check)]

    told = asyncio.run(main())
    assert told[0].startswith("retry: ")
    assert ": still here\n\n" in told
    assert len(checks) == 3
    assert not stream._viewers


def test_those_who_come_at_once_are_no_more_than_others(store, monkeypatch):
    monkeypatch.setattr(streaming, "MOST", 2)
    stream = Events(Watch(store), 9, tick=0.01)

    async def main():
        streams = [stream.stream("", 1, threading.Event(), allowed) for _ in range(5)]
        assert stream.room(1)
        told = [await anext(viewer, None) for viewer in streams]
        for viewer in streams:
            await viewer.aclose()
        return told

    assert asyncio.run(main()) == ["retry: 2000\n\n"] * 2 + [None] * 3
