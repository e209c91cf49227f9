"""The stream of events: an appended line shows within a second, a slow client costs nothing, the end is quick."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from unittest import mock
from weakref import WeakKeyDictionary

import pytest

from rolloupe.index import Library, OpenRun
from rolloupe.server import context, event_broadcaster
from rolloupe.server.context import Context
from rolloupe.wire import run_items
from tests.server.server_process import Process
from tests.server.support import lines, opened, relax_run, row, settings


def samples_of(event: Any) -> int:
    return sum(split["samples"] for split in event["run"]["splits"]) if event["kind"] == "run" else 0


def test_an_appended_line_is_told_within_a_second(folder: Path, tmp_path: Path) -> None:
    train = relax_run(folder)
    with Process([folder], tmp_path / "index", port=0) as server, server.events() as stream:
        assert next(stream) == {"kind": "hello", "run": None}
        while samples_of(next(stream)) < 24:
            continue
        delays = []
        for index in range(8, 12):
            began = time.monotonic()
            with (train / "2.jsonl").open("ab") as file:
                file.write(lines([row(2, index)]))
            while samples_of(next(stream)) < 24 + index - 7:
                continue
            delays.append(time.monotonic() - began)
        assert max(delays) < 4.0


def test_many_changes_are_few_messages(folder: Path, tmp_path: Path) -> None:
    train = relax_run(folder)
    with Process([folder], tmp_path / "index", port=0) as server, server.events() as stream:
        next(stream)
        began, told = time.monotonic(), 0
        for index in range(8, 40):
            with (train / "2.jsonl").open("ab") as file:
                file.write(lines([row(2, index)]))
            time.sleep(0.05)
        while samples_of(next(stream)) < 24 + 32:
            told += 1
        assert told <= 5 * (time.monotonic() - began) + 3


async def heads_of(stream: AsyncIterator[bytes]) -> list[bytes]:
    return [message async for message in stream]


async def heads(broadcaster: event_broadcaster.EventBroadcaster, count: int) -> list[bytes]:
    found = []
    async for message in broadcaster.messages():
        found.append(message)
        if len(found) == count:
            break
    return found


def test_it_listens_only_while_somebody_reads(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    log: list[str] = []

    def subscribe(callback: Any) -> Any:
        log.append("in")
        return lambda: log.append("out")

    monkeypatch.setattr(library, "subscribe", subscribe)

    async def scene() -> None:
        broadcaster = Context(library, settings()).events
        first, second = broadcaster.messages(), broadcaster.messages()
        for stream in (first, second):
            assert b"hello" in await anext(stream)
            assert b'"kind":"run"' in await anext(stream)
        assert log == ["in"]
        await first.aclose()  # type: ignore[pyrefly:missing-attribute]
        assert log == ["in"]
        await second.aclose()  # type: ignore[pyrefly:missing-attribute]
        assert log == ["in", "out"]

    asyncio.run(scene())


def test_a_slow_client_is_told_the_newest_state_once(library: Library) -> None:
    client = event_broadcaster.Client()
    for _ in range(10_000):
        client.tell(library.runs[0])
        client.tell(None)
    assert asyncio.run(client.take(1)) == [(library.runs[0].id, library.runs[0]), (event_broadcaster.RUNS, None)]
    assert asyncio.run(client.take(0.01)) == []


def test_silence_is_broken_by_a_comment(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_broadcaster, "KEEP_ALIVE_S", 0.01)

    async def scene() -> list[bytes]:
        return await heads(Context(library, settings()).events, 8)

    assert b": still here\n\n" in asyncio.run(scene())


def test_of_many_runs_only_the_change_is_told(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_broadcaster, "FEW", 0)

    async def scene() -> list[bytes]:
        return await heads(Context(library, settings()).events, 2)

    assert asyncio.run(scene())[1] == b'data: {"kind":"runs","run":null}\n\n'


def test_changes_of_many_runs_are_told_at_once_and_wait_for_no_look_at_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[bool] = []
    describe = run_items.run_item

    def noted(run: OpenRun, *, of_files: bool = True) -> Any:
        looks.append(of_files)
        return describe(run, of_files=of_files)

    monkeypatch.setattr(event_broadcaster, "FEW", 2)
    monkeypatch.setattr(run_items, "run_item", noted)
    for name in ("a", "b", "c"):
        relax_run(tmp_path / "runs" / name)

    async def scene(library: Library) -> None:
        events = Context(library, settings()).events
        stream = events.messages()
        assert b"hello" in await anext(stream) and b'"kind":"runs"' in await anext(stream)
        (client,) = events.clients
        for run in library.runs:
            client.tell(run)
        told = await anext(stream)
        assert told.count(b'"kind":"run"') == 3 and looks == [False] * 3
        await stream.aclose()  # type: ignore[pyrefly:missing-attribute]

    with Library([tmp_path / "runs"], index_dir=tmp_path / "index") as library:
        assert all(run.wait_all(30) for run in library.runs)
        asyncio.run(scene(library))


def test_what_is_found_in_files_that_a_list_did_not_wait_for_is_told(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_broadcaster, "FEW", 0)
    monkeypatch.setattr(run_items, "FIRST_S", -1.0)
    monkeypatch.setattr(run_items, "LOOK_S", -1.0)
    monkeypatch.setattr(run_items, "DESCRIPTIONS", WeakKeyDictionary())
    (Path(library.runs[0].info.root) / "metrics.jsonl").write_text('{"step": 0, "loss": 1.0}\n{ broken\n{"step": 1}\n')
    told = b'data: {"kind":"runs","run":null}\n\n'

    async def scene() -> None:
        broadcaster = Context(library, settings()).events
        stream = broadcaster.messages()
        assert b"hello" in await anext(stream) and await anext(stream) == told
        assert sum(item.problems for item in run_items.run_items(library.runs)) == 0
        monkeypatch.setattr(run_items, "LOOK_S", 30.0)
        broadcaster.look_on()
        assert b'"problems":1' in await anext(stream)
        assert sum(item.problems for item in run_items.run_items(library.runs)) == 1
        await stream.aclose()  # type: ignore[pyrefly:missing-attribute]

    asyncio.run(scene())


def test_lists_in_quick_succession_look_once_at_the_files(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    run_items.run_items(library.runs)
    look = mock.Mock(wraps=run_items.describe)
    monkeypatch.setattr(run_items, "describe", look)
    run_items.run_items(library.runs)
    assert not look.called
    monkeypatch.setattr(run_items, "AGAIN_S", 0.0)
    run_items.run_items(library.runs)
    assert look.called


def test_the_end_tells_nothing_that_a_page_would_ask_for(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    take = event_broadcaster.Client.take

    async def scene() -> list[bytes]:
        waits = asyncio.Event()

        async def waiting(client: event_broadcaster.Client, timeout_s: float) -> Any:
            waits.set()
            return await take(client, timeout_s)

        context = Context(library, settings())
        stream = context.events.messages()
        assert b"hello" in await anext(stream)
        assert b'"kind":"run"' in await anext(stream)
        monkeypatch.setattr(event_broadcaster.Client, "take", waiting)
        last = asyncio.create_task(heads_of(stream))
        await waits.wait()
        context.close()
        return await last

    assert asyncio.run(scene()) == []


def test_closing_ends_every_stream_at_once(library: Library) -> None:
    async def scene() -> float:
        context = Context(library, settings())
        readers = [asyncio.create_task(heads(context.events, 1000)) for _ in range(3)]
        await asyncio.sleep(0.3)
        began = time.monotonic()
        context.close()
        await asyncio.gather(*readers)
        assert context.events.is_full
        return time.monotonic() - began

    assert asyncio.run(scene()) < 0.2


def test_a_change_after_the_end_of_the_loop_is_dropped(folder: Path, tmp_path: Path) -> None:
    relax_run(folder, steps=1)
    library = opened(folder, tmp_path / "index")
    kept: list[Any] = []
    original = library.subscribe

    def subscribe(callback: Any) -> Any:
        kept.append(callback)
        return original(callback)

    library.subscribe = subscribe  # type: ignore[pyrefly:method-assign]
    asyncio.run(heads(Context(library, settings()).events, 2))
    run: OpenRun = library.runs[0]
    kept[0]("run", run)


def test_more_streams_than_any_browser_needs_are_refused(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.server.support import get, served

    monkeypatch.setattr(context, "MAX_CLIENTS", 0)
    assert get(served(library), "/api/events").status == 503
