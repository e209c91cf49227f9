"""The routes of the search: the stream, its end, more hits, places in UTF-16, and who is refused."""

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from rolloupe.index import Library
from rolloupe.query.search import TextQuery
from rolloupe.server import searches
from rolloupe.server.app import App
from rolloupe.server.context import Context
from rolloupe.server.routes import search
from rolloupe.server.routes.search import begin_search
from rolloupe.wire.session import SearchRequest
from tests.formats.test_telescope import RUN as TELESCOPE
from tests.query.search.test_reports import logged
from tests.server.support import BEARER, WRITE, Answer, ask, get, lines, opened, row, served, settings
from tests.thoroughness import each


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """Two runs; in one of them a needle stands in every second of 400 samples."""
    folder = tmp_path_factory.mktemp("runs")
    for name, steps in (("first", 4), ("second", 1)):
        train = folder / name / "rollout_result" / "train"
        train.mkdir(parents=True)
        for step in range(steps):
            rows = [row(step, n, response=f"😀 {'Needle' if n % 2 and steps > 1 else 'hay'} {n}") for n in range(100)]
            (train / f"{step}.jsonl").write_bytes(lines(rows))
    with opened(folder, tmp_path_factory.mktemp("index")) as library:
        yield library


@pytest.fixture
def app(many: Library) -> App:
    return served(many)


def post(app: App, target: str, body: Any, **headers: str) -> Answer:
    return ask(app, "POST", target, BEARER | WRITE | headers, json.dumps(body).encode())


def searched(app: App, text: str, **more: Any) -> list[dict[str, Any]]:
    how = {key: more.pop(key) for key in ("regex", "case", "word", "roles") if key in more}
    answer = post(app, "/api/search", {"tab": "one", "search": {"text": text, **how}, **more})
    assert answer.status == 200 and answer.headers["content-type"] == "application/x-ndjson", answer.body
    return [json.loads(line) for line in answer.body.splitlines()]


def test_of_one_run_it_is_told_how_many_were_found_by_step(app: App) -> None:
    events = searched(app, "needle", runs=["first"], oldest_first=True)
    counted = Counter[tuple[str, int]]()
    for event in events:
        counted.update({(one["split"], one["step"]): one["found"] for one in event["found_since"]})
    assert counted == {("train", step): 50 for step in range(4)}
    assert [hit["step"] for event in events for hit in event["hits"]] == [0] * 50 + [1] * 50


def test_a_search_is_a_stream_that_ends_with_the_total(app: App) -> None:
    events = searched(app, "needle")
    assert {event["kind"] for event in events[:-1]} <= {"waiting", "progress"}
    last = events[-1]
    assert (last["kind"], last["found"], last["listed"], last["samples"]) == ("over", 200, 200, 500)
    assert last["searched_bytes"] == last["known_bytes"] > 0 and last["notes"] == last["indexing"] == []
    assert last["found_by_run"] == {"first": 200} and not any(event["found_since"] for event in events)
    hits = [hit for event in events for hit in event["hits"]]
    assert len(hits) == searches.TOLD and hits[0]["step"] == 3 and hits[0]["run"] == "first"
    assert hits[0]["snippets"] == [
        {"role": "response", "pieces": ["😀 ", "Needle", " 1"], "is_start": True, "is_end": True}
    ]


def test_conversations_of_reports_come_behind_the_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(logged(tmp_path / "run"), tmp_path / "index") as library:
        events = searched(served(library), "verdict")
        assert (events[-1]["kind"], events[-1]["found"], events[-1]["transcripts_found"]) == ("over", 3, 3)
        assert (events[-1]["reports"], events[-1]["known_reports"]) == (3, 3)
        assert [hit["step"] for event in events for hit in event["transcripts"]] == [2, 1, 0]
        assert next(hit for event in events for hit in event["transcripts"]) == {
            "run": "run", "split": "train", "step": 2, "title": "Group 2", "at": "1.1", "more": False,
            "snippets": [
                {
                    "role": "assistant", "pieces": ["A ", "verdict", ": no, it is not."],
                    "is_start": True, "is_end": True,
                }
            ],
        }  # fmt: skip
        monkeypatch.setattr(search, "TOLD", 2)
        few = searched(served(library), "verdict")
        assert sum(len(event["transcripts"]) for event in few) == 2 and few[-1]["transcripts_found"] == 3


def test_later_hits_are_asked_for(app: App) -> None:
    last = searched(app, "needle")[-1]
    target = f"/api/search/hits?search={last['search']}"
    later = get(app, f"{target}&offset=100&limit=80").json["hits"]
    assert [hit["step"] for hit in later] == [1] * 50 + [0] * 30
    assert get(app, f"{target}&offset=190").json["hits"][-1]["id"] == "train/0/24/99"
    assert get(app, f"{target}&offset=200").json["hits"] == []
    assert get(app, "/api/search/hits?search=none").status == 404


def test_what_is_searched_can_be_narrowed(app: App) -> None:
    assert searched(app, "needle", runs=["second"])[-1]["found"] == 0
    last = searched(app, "needle", runs=["first"], split="train", step_min=1, step_max=2, where="reward > 0.5")[-1]
    assert (last["found"], last["known_samples"]) == (100, 200)
    assert searched(app, "NEEDLE", case=True)[-1]["found"] == 0
    assert searched(app, "Nee?dle [13]$", regex=True)[-1]["found"] == 8
    assert searched(app, "question", roles=["response"])[-1]["found"] == 0


def test_a_split_that_no_run_has_is_refused(app: App) -> None:
    refused = post(app, "/api/search", {"tab": "one", "search": {"text": "a"}, "split": "eval/none"})
    assert refused.status == 404 and "no split" in refused.json["error"]


@each(
    "body",
    [
        {}, [], {"tab": "one", "search": {"text": ""}}, {"tab": "one", "search": {"text": "a" * 10_001}},
        {"tab": "one", "search": {"text": "a", "roles": ["none"]}},
        {"tab": "one", "search": {"text": "a"}, "where": "reward <"},
    ],
)  # fmt: skip
def test_what_means_nothing_is_refused(app: App, body: Any) -> None:
    assert post(app, "/api/search", body).status == 400


def test_a_pattern_that_cannot_be_read_is_told(app: App) -> None:
    answer = post(app, "/api/search", {"tab": "one", "search": {"text": "a(b", "regex": True}})
    assert answer.status == 400 and "at character 2" in answer.json["error"]
    assert post(app, "/api/search", {"tab": "one", "search": {"text": "a"}, "runs": ["none"]}).status == 404
    assert ask(app, "POST", "/api/search", WRITE, b"{}").status == 401
    assert ask(app, "POST", "/api/search", BEARER, b"{}").status in (400, 403)


def test_the_places_in_a_sample_count_utf_16(app: App) -> None:
    path = f"/api/runs/{quote('first')}/sample/spans"
    answer = post(app, path, {"id": "train/0/0/1", "search": {"text": "needle"}}).json
    assert answer == {"more": False, "spans": [{"at": "1.0", "start": 3, "stop": 9}]}
    assert post(app, path, {"id": "train/0/0/none", "search": {"text": "needle"}}).status == 404


def running(library: Library, text: str) -> searches.Running:
    return begin_search(list(library.runs), SearchRequest(tab="one", search=TextQuery(text=text)))


def test_a_new_search_of_a_tab_ends_the_one_before(many: Library) -> None:
    async def scene() -> None:
        held = Context(many, settings()).searches
        one, two = running(many, "needle"), running(many, "hay")
        first = held.stream("tab", one)
        await anext(first)
        second = held.stream("tab", two)
        await anext(second)
        assert one.stop.is_set() and not two.stop.is_set()
        assert json.loads([line async for line in first][-1])["kind"] == "stopped"
        assert json.loads([line async for line in second][-1])["found"] == 300
        held.close()

    asyncio.run(scene())


def test_a_client_that_leaves_ends_its_search(many: Library) -> None:
    async def scene() -> None:
        held = Context(many, settings()).searches
        one = running(many, "needle")
        stream = held.stream("tab", one)
        await anext(stream)
        await stream.aclose()
        assert one.stop.is_set()
        held.close()

    asyncio.run(scene())


def test_more_than_can_run_wait_and_come_to_an_end(many: Library) -> None:
    async def one_of(held: searches.Searches, number: int) -> Any:
        return json.loads([line async for line in held.stream(str(number), running(many, "needle"))][-1])

    async def scene() -> None:
        held = Context(many, settings()).searches
        ended = await asyncio.gather(*(one_of(held, number) for number in range(3 * searches.RUNNING)))
        assert [(one["kind"], one["found"]) for one in ended] == [("over", 200)] * len(ended)
        held.close()
        assert held.is_full

    asyncio.run(scene())


def test_the_searches_of_one_person_leave_threads_to_others(many: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    may_end = threading.Event()

    def lasting(person: str) -> searches.Running:
        one = begin_search(list(many.runs), SearchRequest(tab="one", search=TextQuery(text="needle")), person)

        def go() -> None:
            begun.append(person)
            may_end.wait(10)

        monkeypatch.setattr(one, "go", go)
        return one

    async def scene() -> None:
        held = Context(many, settings()).searches
        of_ada = [held.stream(str(tab), lasting("ada")) for tab in range(searches.RUNNING)]
        for stream in of_ada:
            await anext(stream)
        of_bob = held.stream("1", lasting("bob"))
        await anext(of_bob)
        while "bob" not in begun:
            await anext(of_bob)
        assert begun.count("ada") == searches.RUNNING_OF_ONE
        may_end.set()
        await anext(of_ada[-1])
        while begun.count("ada") < searches.RUNNING:
            for stream in of_ada:
                await anext(stream, None)
        for stream in (*of_ada, of_bob):
            await stream.aclose()
        held.close()

    begun: list[str] = []
    asyncio.run(scene())


def test_a_defect_in_a_search_is_told(many: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise AssertionError("broken on purpose")

    monkeypatch.setattr("rolloupe.query.search.worker.SearchPart.look", broken)
    last = searched(served(many), "needle")[-1]
    assert last["kind"] == "failed" and "defect" in last["notes"][-1]


def test_a_hit_says_why_it_was_not_trained_on(demo_index: Path) -> None:
    with opened(TELESCOPE, demo_index) as library:
        hits = [hit for event in searched(served(library), "the") for hit in event["hits"]]
    assert {"", "max_async"} <= {hit["discarded"] for hit in hits}
