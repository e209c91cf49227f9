"""What a person adds, over HTTP: read, changed, refused, told to other tabs and to viewers on other ports."""

import contextlib
import json
import socket
import sqlite3
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from rolloupe.server.app import App
from rolloupe.server.routes import state
from rolloupe.server.threads import FILES
from tests.index.support import eventually
from tests.server.server_process import Process
from tests.server.support import BEARER, WRITE, Answer, ask, get, lines, opened, relax_run, row, run_path, served

SAMPLE = "train/0/0/1"


def put(app: App, **change: Any) -> Answer:
    return ask(app, "POST", "/api/state", BEARER | WRITE, json.dumps({"seen": 0, **change}).encode())


def app_of(folder: Path, tmp_path: Path, name: str = "state") -> App:
    relax_run(folder)
    return served(opened(folder, tmp_path / "index"), state_dir=str(tmp_path / name))


def test_a_bookmark_comes_back_with_what_tells_its_sample_again(folder: Path, tmp_path: Path) -> None:
    app = app_of(folder, tmp_path)
    run = get(app, "/api/runs").json["runs"][0]["id"]
    assert get(app, "/api/state").json["items"] == []
    made = put(app, kind="sample", run=run, name=SAMPLE, sample_mark={"bookmarked": True, "note": "why 1?"})
    assert made.status == 200
    reply = get(app, "/api/state").json
    assert reply["items"] == [made.json]
    assert made.json["sample_mark"] == {
        "bookmarked": True, "note": "why 1?", "judgement": "", "uid": "", "excerpt": "Answer 1",
    }  # fmt: skip
    assert [(owner["owner"], owner["run"]) for owner in reply["owners"]] == [(made.json["owner"], run)]
    assert (reply["trouble"], reply["place"]) == ("", str(tmp_path / "state/state.sqlite"))
    again = served(opened(folder, tmp_path / "index"), state_dir=str(tmp_path / "state"))
    assert get(again, "/api/state").json == reply
    assert get(again, f"/api/state?since={reply['version']}").json["items"] == []
    gone = put(again, kind="sample", run=run, name=SAMPLE, seen=made.json["version"]).json
    assert (gone["sample_mark"], gone["version"]) == (None, 2)
    assert get(again, "/api/state").json["items"] == []
    assert get(again, "/api/state?since=1").json["items"] == [gone]


def test_a_conflict_answers_what_the_other_wrote(folder: Path, tmp_path: Path) -> None:
    app = app_of(folder, tmp_path)
    other = served(opened(folder, tmp_path / "index"), state_dir=str(tmp_path / "state"))
    run = get(app, "/api/runs").json["runs"][0]["id"]
    theirs = put(other, kind="run", run=run, run_mark={"name": "theirs", "colour": 2}).json
    mine = put(app, kind="run", run=run, run_mark={"name": "mine"})
    assert mine.status == 409
    assert mine.json.keys() == {"error", "next", "item"} and mine.json["item"] == theirs
    kept = put(app, kind="run", run=run, run_mark={"name": "mine"}, seen=theirs["version"])
    assert (kept.status, kept.json["run_mark"]["name"]) == (200, "mine")
    layout = {"kind": "layout", "run": run, "name": "metrics"}
    assert put(other, **layout, setting={"charts": ["reward"]}).status == 200
    late = put(app, **layout, setting={"charts": []})
    assert (late.status, late.json["item"]["setting"]) == (409, {"charts": ["reward"]})


def test_a_run_that_is_not_open_is_named_by_its_key(folder: Path, tmp_path: Path) -> None:
    app = app_of(folder, tmp_path)
    run = get(app, "/api/runs").json["runs"][0]["id"]
    made = put(app, kind="sample", run=run, name=SAMPLE, sample_mark={"bookmarked": True}).json
    elsewhere = app_of(tmp_path / "elsewhere", tmp_path)
    (owner,) = get(elsewhere, "/api/state").json["owners"]
    assert (owner["run"], owner["owner"], owner["path"]) == ("", made["owner"], str(folder / "rollout_result"))
    change = {"owner": owner["owner"], "seen": made["version"], "sample_mark": made["sample_mark"] | {"note": "later"}}
    assert put(elsewhere, kind="sample", name=SAMPLE, **change).status == 200
    assert get(app, "/api/state").json["items"][0]["sample_mark"]["note"] == "later"


def test_what_is_no_change_is_refused(folder: Path, tmp_path: Path) -> None:
    app = app_of(folder, tmp_path)
    run = get(app, "/api/runs").json["runs"][0]["id"]
    mark = {"bookmarked": True}
    for status, change in (
        (400, {"kind": "sample", "run": run, "name": SAMPLE, "sample_mark": {"note": 7}}),
        (400, {"kind": "sample", "run": run, "name": SAMPLE, "sample_mark": mark, "run_mark": {}}),
        (400, {"kind": "run", "run": run, "run_mark": {"colour": 99}}),
        (400, {"kind": "setting", "name": "x", "setting": [1]}),
        (400, {"kind": "nothing", "name": "x", "setting": {}}),
        (400, {"kind": "sample", "owner": "dead", "name": SAMPLE, "sample_mark": mark}),
        (404, {"kind": "sample", "run": "nowhere", "name": SAMPLE, "sample_mark": mark}),
        (404, {"kind": "sample", "run": run, "name": "train/0/0/99", "sample_mark": mark}),
        (404, {"kind": "sample", "run": run, "name": "../../etc/passwd", "sample_mark": mark}),
    ):
        answer = put(app, **change)
        assert (answer.status, list(answer.json)) == (status, ["error", "next"]), change
    assert ask(app, "POST", "/api/state", BEARER | WRITE, b"[]").status == 400
    assert get(app, "/api/state?since=-1").status == 400
    assert get(app, "/api/state").json["items"] == []


def test_what_cannot_be_kept_is_refused_and_kept_by_a_later_try(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file where the folder would be")
    app = app_of(folder, tmp_path)
    run = get(app, "/api/runs").json["runs"][0]["id"]
    changes: list[dict[str, Any]] = [
        {"kind": "sample", "run": run, "name": SAMPLE, "sample_mark": {"bookmarked": True}},
        {"kind": "run", "run": run, "run_mark": {"name": "mine", "note": "a note", "colour": 3}},
        {"kind": "setting", "name": "page", "setting": {"theme": "dark"}},
    ]
    for change in changes:
        refused = put(app, **change)
        assert (refused.status, list(refused.json)) == (503, ["error", "next"])
        assert "not saved" in refused.json["error"] and str(tmp_path / "state") in refused.json["error"]
    reply = get(app, "/api/state").json
    assert reply["items"] == [] and "state" in reply["trouble"]
    assert get(app, f"{run_path(app)}/samples?split=train&step=0").status == 200
    (tmp_path / "state").unlink()
    assert [put(app, **change).status for change in changes] == [200, 200, 200]
    reply = get(app, "/api/state").json
    assert len(reply["items"]) == 3 and reply["trouble"] == ""


def test_other_tabs_and_other_viewers_are_told(folder: Path, tmp_path: Path) -> None:
    relax_run(folder)
    options = {"state_dir": str(tmp_path / "state"), "port": 0}
    with (
        Process([folder], tmp_path / "index", **options) as one,
        Process([folder], tmp_path / "index", **options) as two,
        one.events() as here,
        two.events() as there,
    ):
        while not (runs := one.json("/api/runs")["runs"]):
            continue
        (run,) = runs
        assert (next(here)["kind"], next(there)["kind"]) == ("hello", "hello")
        while next(there)["kind"] != "run":
            continue
        two.json("/api/state")
        change = {"kind": "run", "run": run["id"], "seen": 0, "run_mark": {"name": "seen by both"}}
        assert one.post("/api/state", change)["version"] == 1
        for stream in (here, there):
            while next(stream)["kind"] != "state":
                continue
        assert two.json("/api/state")["items"][0]["run_mark"]["name"] == "seen by both"


def test_what_was_marked_is_taken_with_its_notes(folder: Path, tmp_path: Path) -> None:
    app = app_of(folder, tmp_path)
    run = get(app, "/api/runs").json["runs"][0]["id"]
    put(app, kind="sample", run=run, name=SAMPLE, sample_mark={"bookmarked": True, "note": "look"})
    (found,) = get(app, f"{run_path(app)}/marked").json["samples"]
    assert (found["name"], found["sample"]["id"], found["sample"]["reward"]) == (SAMPLE, SAMPLE, 1.0)
    answer = get(app, f"{run_path(app)}/export?to=jsonl&of=bookmarks&texts=whole")
    assert answer.headers["content-disposition"].endswith(".bookmarks.jsonl")
    for query in ("to=html&of=bookmarks", "to=html&notes=1"):
        assert b'"note":"look"' in get(app, f"{run_path(app)}/export?{query}").body
    assert b'"note":"look"' not in get(app, f"{run_path(app)}/export?to=html").body
    (row,) = [json.loads(line) for line in answer.body.splitlines()]
    assert (row["id"], row["note"], row["response"], row["label"]) == (SAMPLE, "look", "Answer 1", None)


def test_much_that_was_added_is_told_in_parts(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = app_of(folder, tmp_path)
    run = get(app, "/api/runs").json["runs"][0]["id"]
    names = [f"train/{step}/0/{index}" for step in range(3) for index in range(3)]
    for name in names:
        put(app, kind="sample", run=run, name=name, sample_mark={"bookmarked": True, "note": f"of {name}"})
    put(app, kind="sample", run=run, name=names[4], seen=5)
    monkeypatch.setattr(state, "STATE_CHARS", 600)
    monkeypatch.setattr(state, "MARKED", 3)
    told: list[list[str]] = []
    since, more = 0, True
    while more:
        reply = get(app, f"/api/state?since={since}").json
        told.append([item["name"] for item in reply["items"] if item["sample_mark"]])
        since, more = reply["version"], reply["more"]
    left = [name for name in names if name != names[4]]
    assert [name for some in told for name in some] == left and max(map(len, told)) < 4 and since == 10
    found, before = [], None
    while before != 0:
        reply = get(app, f"{run_path(app)}/marked" + (f"?before={before}" if before else "")).json
        found.append([one["sample"]["id"] for one in reply["samples"]])
        before = reply["before"]
    assert [name for some in found for name in some] == left[::-1] and [len(some) for some in found] == [3, 3, 2]
    taken = get(app, f"{run_path(app)}/export?to=jsonl&of=bookmarks").body.splitlines()
    assert [(row["id"], row["note"]) for row in map(json.loads, taken)] == [(name, f"of {name}") for name in left]


def test_a_mark_that_cannot_be_read_hides_none_that_is_older(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    relax_run(folder, steps=5)
    app = served(opened(folder, tmp_path / "index"), state_dir=str(tmp_path / "state"))
    run = get(app, "/api/runs").json["runs"][0]["id"]
    names = [f"train/{step}/0/0" for step in range(5)]
    for name in names:
        put(app, kind="sample", run=run, name=name, sample_mark={"bookmarked": True})
    file = sqlite3.connect(Path(get(app, "/api/state").json["place"]))
    with contextlib.closing(file), file:
        file.execute("UPDATE items SET value = '{' WHERE name IN (?, ?)", (names[3], names[1]))
    monkeypatch.setattr(state, "MARKED", 2)
    found, before = [], 99
    while before:
        reply = get(app, f"{run_path(app)}/marked?before={before}").json
        found += [one["name"] for one in reply["samples"]]
        before = reply["before"]
    assert found == [names[4], names[2], names[0]]


def test_a_query_is_taken_as_a_file(folder: Path, tmp_path: Path) -> None:
    app = app_of(folder, tmp_path)
    path = f"{run_path(app)}/export"
    target = f"{path}?to=jsonl&split=train&step_min=1&sort=reward&descending=1&where=reward%20>%200.5"
    rows = [json.loads(line) for line in get(app, target).body.splitlines()]
    assert [row["step"] for row in rows] == [1] * 4 + [2] * 4
    assert {row["reward"] for row in rows} == {1.0}
    assert get(app, f"{path}?to=csv&step=0").body.count(b"\r\n") == 9
    assert get(app, f"{path}?to=parquet").body[:4] == b"PAR1"
    for wrong in ("to=xlsx", "to=csv&texts=some", "to=csv&of=all", "to=csv&where=reward", "to=csv&sort=nothing", "x=1"):
        assert get(app, f"{path}?{wrong}").status == 400, wrong
    assert get(app, f"{path}?to=csv&split=other").status == 404


def test_few_files_are_sent_at_a_time_and_no_faster_than_they_are_read(folder: Path, tmp_path: Path) -> None:
    train = relax_run(folder, steps=1, samples=1)
    (train / "0.jsonl").write_bytes(lines(row(0, n, response="x" * 2**20) for n in range(8)))
    with Process([folder], tmp_path / "index", state_dir=str(tmp_path / "state")) as server, ExitStack() as open_ones:
        eventually(lambda: [one["progress"]["phase"] for one in server.json("/api/runs")["runs"]] == ["ready"])
        runs = server.json("/api/runs")["runs"]
        target = f"/api/runs/{quote(runs[0]['id'], safe='')}/export?to=jsonl&texts=whole"

        def begun() -> tuple[bytes, socket.socket]:
            line = open_ones.enter_context(server.connected())
            line.sendall(server.request(target))
            head = line.recv(12)
            return head, line

        stalled = []
        for _ in range(FILES):
            head, line = begun()
            while len(head) < 2000:  # its file has begun
                head += line.recv(2000)
            assert head.startswith(b"HTTP/1.1 200")
            stalled.append(line)
        assert begun()[0] == b"HTTP/1.1 503"
        assert server.json("/api/runs")["runs"][0]["id"] == runs[0]["id"]
        stalled[0].close()
        eventually(lambda: begun()[0] != b"HTTP/1.1 503")
        seconds, code, errors = server.interrupt()
        assert (code, errors) == (0, ""), seconds
