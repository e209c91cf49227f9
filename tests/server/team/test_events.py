"""Streams of many people: each is told what it may see, and what all are told is described once."""

import asyncio
from unittest import mock
from weakref import WeakKeyDictionary

import pytest

from rolloupe.server import event_broadcaster
from rolloupe.server.access import AccessFile
from rolloupe.server.app import App
from rolloupe.server.event_broadcaster import Client, EventBroadcaster
from rolloupe.server.people import Person
from rolloupe.wire import run_items
from tests.server.team.conftest import Runs
from tests.server.team.support import ask_as
from tests.thoroughness import each

RUN, SAMPLE = "first", "train/0/0/0"


def readers(broadcaster: EventBroadcaster) -> dict[str, Client]:
    people = {name: Client(Person(name, AccessFile(None))) for name in ("ada", "bob")}
    broadcaster.clients.update(people.values())
    return people


@each(("shared", "told"), [(False, ["ada"]), (True, ["ada", "bob"])])
def test_only_those_are_told_of_a_note_who_may_read_it(app: App, *, shared: bool, told: list[str]) -> None:
    people = readers(app.context.events)
    body = {"kind": "run", "run": RUN, "seen": 0, "shared": shared, "run_mark": {"name": "mine"}}
    assert ask_as(app, "ada", "POST", "/api/state", body).status == 200
    assert [name for name, client in people.items() if event_broadcaster.STATE in client.changed] == told


def test_what_many_are_told_at_once_is_described_once(app: App, runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_items, "DESCRIPTIONS", WeakKeyDictionary())
    describe = mock.Mock(wraps=run_items.describe)
    monkeypatch.setattr(run_items, "describe", describe)
    run, people = runs.library.runs[0], readers(app.context.events)

    async def scene() -> None:
        for one in people.values():
            assert b'"id":"first"' in await app.context.events.messages_about([(run.id, run)], one.person)

    monkeypatch.setattr(run_items, "SAME_S", 60.0)
    asyncio.run(scene())
    assert describe.call_count == 1
    monkeypatch.setattr(run_items, "SAME_S", 0.0)
    asyncio.run(scene())
    assert describe.call_count > 1
