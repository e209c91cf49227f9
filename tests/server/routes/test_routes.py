"""The routes against the real files of tests/data, and against a run whose answers are known."""

import asyncio
import csv
import io
import shutil
import threading
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from rolloupe import query
from rolloupe.formats import Discovery, discover
from rolloupe.index import IndexWork, Library, OpenRun, RunSearch
from rolloupe.index import library as library_module
from rolloupe.record import Recorder
from rolloupe.server.app import App
from rolloupe.wire.failures import ErrorReply
from rolloupe.wire.runs import ProblemsReply, RunsReply, StepsReply
from rolloupe.wire.samples import (
    FindReply,
    GroupsReply,
    MembersReply,
    RawReply,
    SampleReply,
    SamplesReply,
    TextReply,
    TurnsReply,
)
from rolloupe.wire.session import CacheStats
from tests.index.support import eventually
from tests.server.support import get, lines, opened, relax_run, row, run_path, served
from tests.thoroughness import each


def test_the_list_of_runs(app: App) -> None:
    reply = get(app, "/api/runs").json
    (run,) = reply["runs"]
    assert reply["program"].startswith("rolloupe ")
    assert (run["name"], run["format"], run["problems"]) == ("first run ü", "relax", 0)
    assert run["splits"] == [
        {
            "name": "train",
            "steps": 3,
            "samples": 24,
            "discarded": 0,
            "first_step": 0,
            "last_step": 2,
            "reward_min": 0.0,
            "reward_max": 1.0,
            "last_reward": 0.5,
            "last_response_tokens": 13.5,
            "last_response_chars": 8.0,
        }
    ]
    assert run["progress"]["done_bytes"] == run["progress"]["total_bytes"] > 0
    assert run["may_report"] is False
    assert (run["live"], run["has_grown"]) == (False, False)  # its files may have been copied here a moment ago


def test_a_run_that_is_not_found_yet_is_awaited_while_the_first_search_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    relax_run(tmp_path / "runs/a")
    goes_on = threading.Event()

    def slow(paths: Any, reading: Any, within_s: Any = None, on_find: Any = None, **_: Any) -> Discovery:
        goes_on.wait(30)
        return discover(paths, reading, within_s, on_find)

    monkeypatch.setattr(library_module, "discover", slow)
    with Library(
        [tmp_path / "runs"], index_dir=tmp_path / "index", follow=True, search=RunSearch(patience_s=0.01)
    ) as library:
        app = served(library)
        reply = get(app, "/api/runs").json
        assert (reply["runs"], reply["searching"], app.context.is_ready) == ([], True, False)
        threading.Timer(0.2, goes_on.set).start()
        assert get(app, "/api/runs/a/about").json["format"] == "relax"
        assert get(app, "/api/runs").json["searching"] is False and app.context.is_ready
        assert get(app, "/api/runs/b/about").status == 404


def test_steps_in_columns(app: App) -> None:
    reply = get(app, f"{run_path(app)}/steps?split=train").json
    assert reply["steps"] == [0, 1, 2]
    assert reply["samples"] == [8, 8, 8]
    assert reply["reward_mean"] == [0.5] * 3
    assert reply["reward_excluded"] == [0] * 3


def test_groups_in_the_order_of_their_samples(app: App) -> None:
    groups = get(app, f"{run_path(app)}/groups?split=train&step=1").json["groups"]
    assert [(one["samples"], one["first"], one["prompt"]) for one in groups] == [
        (4, 0, "Question 0?"),
        (4, 4, "Question 1?"),
    ]


def test_a_page_of_samples_sorted_and_cut(app: App) -> None:
    path = run_path(app)
    page = get(app, f"{path}/samples?split=train&step=1&sort=response_tokens&descending=1&offset=2&limit=3").json
    assert (page["total"], page["offset"]) == (8, 2)
    assert [one["response_tokens"] for one in page["samples"]] == [15, 14, 13]


def test_a_list_of_a_range_or_a_whole_split_is_filtered_and_counted(app: App) -> None:
    path = run_path(app)
    where = quote("reward = 1 and index in (1, 3)")
    for scope, total, of in (("step=1&", 2, 8), ("step_min=1&", 4, 16), ("step_max=0&", 2, 8), ("", 6, 24)):
        page = get(app, f"{path}/samples?split=train&{scope}where={where}&column=response_tokens&column=status").json
        assert (page["total"], page["of"], page["columns"]) == (total, of, ["response_tokens", "status"])
        assert {tuple(one["values"]) for one in page["samples"]} == {(11, "completed"), (13, "completed")}
        groups = get(app, f"{path}/groups?split=train&{scope}where={where}&sort=reward&column=reward").json
        assert (groups["samples"], groups["of"], groups["total"]) == (total, of, total // 2)
        assert [one["cells"] for one in groups["groups"]] == [[[1.0, 1.0]]] * (total // 2)


def test_a_column_that_the_run_has_not_is_empty(app: App) -> None:
    path = run_path(app)
    groups = get(app, f"{path}/groups?split=train&step=1&column=elsewhere&column=reward").json
    assert groups["columns"] == ["elsewhere", "reward"]
    assert [one["cells"] for one in groups["groups"]] == [[[None] * 4, [0.0, 1.0, 0.0, 1.0]]] * 2
    assert [one["means"] for one in groups["groups"]] == [[None, 0.5]] * 2
    samples = get(app, f"{path}/samples?split=train&step=1&column=elsewhere").json["samples"]
    assert {tuple(one["values"]) for one in samples} == {(None,)}


def test_groups_come_with_the_usual_columns_behind_those_that_are_named(app: App) -> None:
    path = run_path(app)
    groups = get(app, f"{path}/groups?split=train&step=1&column=status&usual=1").json
    assert groups["columns"][:3] == ["status", "reward", "response_tokens"]
    assert all(len(one["cells"]) == len(one["means"]) == len(groups["columns"]) for one in groups["groups"])
    assert get(app, f"{path}/groups?split=train&step=1&column=reward&usual=1").json["columns"][0] == "reward"


def test_the_ids_of_a_group_are_those_of_its_samples(app: App) -> None:
    path = run_path(app)
    groups = get(app, f"{path}/groups?split=train&step=1").json["groups"]
    ids = [group["prefix"] + member for group in groups for member in group["members"]]
    assert ids == [one["id"] for one in get(app, f"{path}/samples?split=train&step=1").json["samples"]]


@each(("where", "place"), [("reward < ", 8), ("reward = 1 and nope = 2", 15), ("reward > many", 0), ("status = 'x", 9)])
def test_a_filter_that_cannot_be_read_says_where(app: App, where: str, place: int) -> None:
    for route in ("samples", "groups", "samples.csv"):
        reply = get(app, f"{run_path(app)}/{route}?split=train&where={quote(where)}")
        assert (reply.status, reply.json["place"]) == (400, place)


def test_a_csv_has_the_texts_that_a_table_shows(app: App) -> None:
    path = f"{run_path(app)}/samples.csv?split=train&step=1&column=reward&column=prompt&column=response"
    first, *rows = csv.reader(io.StringIO(get(app, path).body.decode()))
    (item, *_) = get(app, f"{run_path(app)}/samples?split=train&step=1").json["samples"]
    assert first == ["id", "reward", "prompt", "response"]
    assert rows[0] == [item["id"], str(item["reward"]), item["prompt"], item["response"]]


def test_columns_and_what_completes_a_filter(app: App) -> None:
    path = run_path(app)
    reply = get(app, f"{path}/columns?split=train").json
    assert reply["group_size"] == 4
    assert {
        "name": "reward",
        "kind": "number",
        "source": "fixed",
        "label": "Reward",
        "unit": "",
        "is_empty": False,
        "low": 0.0,
        "high": 1.0,
        "worst": None,
        "best": None,
    } in reply["columns"]
    found = get(app, f"{path}/complete?split=train&step=1&text=reward+%3C+1+and+sta").json
    assert (found["start"], found["found"][0]["text"]) == (15, "status")
    assert get(app, f"{path}/complete?split=train&text=status+%3D+").json["found"][0] == {
        "text": "completed", "kind": "value", "note": "24",
    }  # fmt: skip


def test_a_list_as_csv(app: App) -> None:
    reply = get(app, f"{run_path(app)}/samples.csv?split=train&where=reward+%3E+0&column=reward&column=status&limit=2")
    assert reply.body == b"id,reward,status\r\ntrain/0/0/1,1.0,completed\r\ntrain/0/0/3,1.0,completed\r\n"
    assert reply.headers["content-disposition"].startswith("attachment")


def test_what_length_stands_for_is_asked_beside_the_event_loop(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    original, sorts = query.with_length, []

    def watched(run: OpenRun, asked: query.SampleQuery) -> query.SampleQuery:
        with pytest.raises(RuntimeError, match="no running event loop"):
            asyncio.get_running_loop()
        sorts.append(original(run, asked).sort)
        return original(run, asked)

    monkeypatch.setattr(query, "with_length", watched)
    for route in ("samples", "groups", "samples.csv", "export"):
        assert get(app, f"{run_path(app)}/{route}?split=train&sort=length&to=csv").status == 200
    assert sorts == ["response_tokens"] * 4


def test_the_page_that_holds_a_sample(app: App) -> None:
    path = run_path(app)
    items = get(app, f"{path}/samples?split=train&step=1").json["samples"]
    page = get(app, f"{path}/samples?split=train&step=1&limit=3&around={quote(items[7]['id'])}").json
    assert page["offset"] == 6
    assert [one["id"] for one in page["samples"]] == [items[6]["id"], items[7]["id"]]


def test_a_sample_with_its_place_in_its_group(app: App) -> None:
    path = run_path(app)
    items = get(app, f"{path}/samples?split=train&step=2").json["samples"]
    reply = get(app, f"{path}/sample?id={quote(items[5]['id'], safe='')}").json
    assert (reply["id"], reply["position"], reply["group_size"]) == (items[5]["id"], 2, 4)
    assert reply["group_ids"] == [one["id"] for one in items[4:]]
    text = "".join(part["raw"] or part["text"] for turn in reply["turns"] for part in turn["parts"])
    assert "Question 1?" in text
    assert "Answer 5" in text


def test_ids_round_trip_whatever_they_hold(folder: Path, tmp_path: Path) -> None:
    relax_run(folder, steps=1, samples=0)
    names = ["a/b", "%2F", "~1", "..", "é ü", "?#&=", "<script>", "\n"]
    rows = [row(0, number, group_index=name) for number, name in enumerate(names)]
    (folder / "rollout_result/train/0.jsonl").write_bytes(lines(rows))
    app = served(opened(folder, tmp_path / "index"))
    path = run_path(app)
    items = get(app, f"{path}/samples?split=train&step=0").json["samples"]
    assert len(items) == len(names)
    for item in items:
        assert get(app, f"{path}/sample?id={quote(item['id'], safe='')}").json["id"] == item["id"]


@pytest.mark.parametrize("name", ["plain", "with space", "é", "100%", "a?b#c", "..hidden", "~", "a%2Fb", "-", "a&b=c"])
def test_a_run_of_any_name_has_an_address(tmp_path: Path, name: str) -> None:
    relax_run(tmp_path / name, steps=1)
    app = served(opened(tmp_path / name, tmp_path / "index"))
    assert get(app, f"{run_path(app)}/steps?split=train").json["steps"] == [0]


def test_problems_with_place_reason_and_excerpt(folder: Path, tmp_path: Path) -> None:
    train = relax_run(folder, steps=1, samples=2)
    start = (train / "0.jsonl").stat().st_size
    with (train / "0.jsonl").open("ab") as file:
        file.write(b'{"broken \xff\n' + lines([row(0, 5)]))
    app = served(opened(folder, tmp_path / "index"))
    reply = get(app, f"{run_path(app)}/problems").json
    assert reply["total"] == 1
    (problem,) = reply["problems"]
    assert problem["file"].endswith("0.jsonl")
    assert problem["start"] == start
    assert problem["reason"]
    assert problem["excerpt"].startswith('{"broken \ufffd')
    assert get(app, f"{run_path(app)}/problems?offset=1").json["problems"] == []
    place = f"file={problem['file']}&start={start}&stop={problem['stop']}"
    raw = get(app, f"{run_path(app)}/problems/raw?{place}")
    assert (raw.status, raw.body) == (200, b'{"broken \xff')
    assert raw.headers["content-disposition"].startswith("attachment;")
    assert get(app, f"{run_path(app)}/problems/raw?file=../../etc/passwd&start=0&stop=9").status == 404
    assert get(app, f"{run_path(app)}/problems/raw?file=x&start=9&stop=3").status == 400


def test_problems_beside_the_samples_have_place_and_excerpt_too(tmp_path: Path) -> None:
    with Recorder(tmp_path / "run", code=None) as record:
        record.sample(step=0, reward=1.0)
        record.checkpoint("a", step=0)
    place = tmp_path / "run/checkpoints.jsonl"
    start = place.stat().st_size
    with place.open("ab") as file:
        file.write(b"{bad\n")
    app = served(opened(tmp_path / "run", tmp_path / "index"))
    (problem,) = get(app, f"{run_path(app)}/problems").json["problems"]
    assert (problem["file"], problem["start"], problem["excerpt"]) == ("checkpoints.jsonl", start, "{bad")
    assert get(app, "/api/runs").json["runs"][0]["problems"] == 1
    raw = get(app, f"{run_path(app)}/problems/raw?file=checkpoints.jsonl&start={start}&stop={start + 4}")
    assert raw.body == b"{bad"


def test_a_file_rewritten_under_a_sample_is_a_conflict(folder: Path, tmp_path: Path) -> None:
    train = relax_run(folder, steps=1)
    app = served(opened(folder, tmp_path / "index"))
    path = run_path(app)
    item = get(app, f"{path}/samples?split=train&step=0").json["samples"][3]
    (train / "0.jsonl").write_bytes(b"gone\n")
    answer = get(app, f"{path}/sample?id={quote(item['id'])}")
    assert answer.status == 409
    assert answer.json["next"]


def test_two_servers_on_one_run_agree(folder: Path, tmp_path: Path) -> None:
    train = relax_run(folder)
    libraries = [opened(folder, tmp_path / "index", follow=True) for _ in range(2)]
    apps = [served(library) for library in libraries]

    with (train / "2.jsonl").open("ab") as file:
        file.write(lines([row(2, 8), row(2, 9)]))
    target = f"{run_path(apps[0])}/samples?split=train&step=2"
    eventually(lambda: all(get(app, target).json["total"] == 10 for app in apps))
    pages = [get(app, target).json["samples"] for app in apps]
    assert pages[0] == pages[1]
    assert len({one["id"] for one in pages[0]}) == 10
    for library in libraries:
        library.close()


def test_clearing_drops_memory_and_keeps_the_index(app: App, library: Library) -> None:
    from tests.server.support import BEARER, ask

    target = f"{run_path(app)}/samples?split=train&step=0"
    before = get(app, "/api/cache/stats").json
    get(app, target)
    get(app, target)
    held = get(app, "/api/cache/stats").json
    assert (held["entries"], held["hits"]) == (before["entries"] + 1, before["hits"] + 1)
    assert held["memory_bytes"] > 0
    assert held["index_bytes"] == library.index_bytes() > 0
    cleared = ask(app, "POST", "/api/cache/clear", BEARER).json
    assert (cleared["entries"], cleared["memory_bytes"], cleared["hits"]) == (0, 0, 0)
    assert cleared["index_bytes"] == held["index_bytes"]
    assert get(app, target).status == 200


def test_every_reply_has_the_fields_of_its_record(app: App) -> None:
    path = run_path(app)
    item = quote(get(app, f"{path}/samples?split=train&step=0").json["samples"][0]["id"])
    targets = {
        "/api/runs": RunsReply, f"{path}/steps?split=train": StepsReply,
        f"{path}/groups?split=train&step=0": GroupsReply, f"{path}/samples?split=train&step=0": SamplesReply,
        f"{path}/sample?id={item}": SampleReply, f"{path}/sample/raw?id={item}": RawReply,
        f"{path}/sample/turns?id={item}": TurnsReply, f"{path}/sample/text?id={item}": TextReply,
        f"{path}/sample/find?id={item}&text=Answer": FindReply,
        f"{path}/members?id={item}": MembersReply,
        f"{path}/problems": ProblemsReply, "/api/cache/stats": CacheStats, "/api/nothing": ErrorReply,
    }  # fmt: skip
    for target, record in targets.items():
        fields = record.__struct_fields__[: -1 if record is ErrorReply else None]
        assert tuple(get(app, target).json) == fields


def test_head_gives_the_headers_alone(app: App) -> None:
    from tests.server.support import BEARER, ask

    answer = ask(app, "HEAD", f"{run_path(app)}/steps?split=train", BEARER)
    assert answer.status == 200
    assert int(answer.headers["content-length"]) > 0


def test_what_lies_beside_the_samples(tmp_path: Path) -> None:
    app = served(opened(Path(__file__).parents[2] / "data/tinker/flat_run", tmp_path / "index"))
    (item,) = get(app, "/api/runs").json["runs"]
    assert (item["may_report"], item["has_metrics_alone"]) == (True, False)
    silent = tmp_path / "silent"
    silent.mkdir()
    shutil.copy(
        Path(__file__).parents[2] / "data/tinker/flat_run/train_iteration_000000_rollout_summaries.jsonl", silent
    )
    run = opened(silent, tmp_path / "silent_index")
    assert get(served(run), "/api/runs").json["runs"][0]["may_report"] is False
    board = Path(__file__).parents[2] / "data/trackers/tensorboard/v2_scalars"
    (item,) = get(served(opened(board, tmp_path / "board_index")), "/api/runs").json["runs"]
    assert (item["format"], item["has_metrics_alone"], item["splits"], item["problems"]) == ("curves", True, [], 0)
    assert item["logged_reward"] == 0.75  # reward/mean, the last of three
    about = get(app, f"{run_path(app)}/about").json
    assert about["config"]["num_groups_to_log"] == 4 and about["checkpoints"][-1]["name"] == "final"
    assert about["code_diff"].startswith("### repo") and about["files_left"] == 0 == about["superseded"]
    assert {"split": "eval/test", "steps": [0]} in about["reports"]
    assert "metrics.jsonl" in {file["name"] for file in about["files"]}
    root = get(app, f"{run_path(app)}/report?split=eval/test&step=0").json
    assert root["kind"] == "root" and root["children"]
    assert get(app, f"{run_path(app)}/report?split=eval/test&step=77").status == 404
    assert get(app, f"{run_path(app)}/report?split=eval/test&step=x").status == 400


def test_of_a_run_without_more_the_files_are_told(folder: Path, tmp_path: Path) -> None:
    relax_run(folder, steps=2)
    about = get(app := served(opened(folder, tmp_path / "index")), f"{run_path(app)}/about").json
    assert (about["config"], about["checkpoints"], about["reports"]) == ({}, [], [])
    assert [file["name"] for file in about["files"]] == ["train/0.jsonl", "train/1.jsonl"]


def test_a_step_that_is_finished_is_said_to_be_although_nothing_was_indexed(tmp_path: Path) -> None:
    source = Path(__file__).parents[2] / "data/prime_rl/mini/v7_head/token_exports/step_12/rank_0.jsonl"
    folder = tmp_path / "run/token_exports/step_12"
    folder.mkdir(parents=True)
    (folder / "rank_0.jsonl").write_bytes(source.read_bytes())
    with opened(tmp_path / "run", tmp_path / "index", follow=True) as library:
        app = served(library)
        target = f"{run_path(app)}/steps?split=train"
        first = get(app, target)
        assert first.json["states"] == {"12": "being written"}
        told: list[str] = []
        library.subscribe(lambda kind, _: told.append(kind))
        (folder / "STABLE").touch()
        eventually(lambda: get(app, target).json["states"] == {})
        assert get(app, target, if_none_match=first.headers["etag"]).status == 200
        assert "run" in told


def test_a_sample_that_is_sent_lets_the_index_go_on(folder: Path, tmp_path: Path) -> None:
    relax_run(folder)
    looked_at = threading.Event()
    with Library([folder], index_dir=tmp_path / "index", work=IndexWork(looked_at=looked_at)) as library:
        app = served(library)
        assert library.runs[0].wait(30)
        (first, *_) = get(app, f"{run_path(app)}/samples?split=train").json["samples"]
        assert not looked_at.is_set()
        assert get(app, f"{run_path(app)}/sample?id={quote(first['id'], safe='')}").status == 200
        assert looked_at.is_set()
