"""Texts that the step's log alone holds are listed, searched, filtered, compared and exported as any others."""

import csv
import gzip
import io
import json
import os
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import rolloupe
from rolloupe import Run, query
from rolloupe.formats.reading import logtree
from rolloupe.formats.tinker import logs as tinker_logs
from rolloupe.index import Library, OpenRun, execution
from rolloupe.index.catalog import SUPERSEDED_S
from rolloupe.index.execution import Job, JobReply, ScanJob, perform
from rolloupe.model import LogNode
from rolloupe.query.search import TextQuery
from tests.cli.support import rolloupe as command
from tests.formats.tinker.test_join import FLAT, NAME, group, loaded, section, talk, trajectory, triple
from tests.index.support import eventually, opened
from tests.query.search.support import search
from tests.query.search.test_search import keys
from tests.server.support import get, served
from tests.thoroughness import amount

ROLLOUTS, TREE = "_rollout_summaries.jsonl", "_logtree.json"
TIED = {f"eval/test/{step}/{group + 10 * step}/{index}" for step in (0, 1) for group in range(4) for index in (0, 1)}
"""The samples whose conversations are in the logs of `joined_run`; those of the groups behind were not logged."""


def joined_run(folder: Path) -> Path:
    """A step of a real run with its log, twice: the second time its groups have other numbers."""
    folder.mkdir(parents=True)
    for step in (0, 1):
        records = [json.loads(line) for line in (FLAT / (NAME + ROLLOUTS)).read_text().splitlines()]
        for record in records:
            record |= {"iteration": step, "group_idx": record["group_idx"] + 10 * step}
        (folder / f"eval_test_iteration_00000{step}{ROLLOUTS}").write_bytes(lines(records))
        (folder / f"eval_test_iteration_00000{step}{TREE}").write_bytes((FLAT / (NAME + TREE)).read_bytes())
    return folder


def lines(records: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def told(run: OpenRun | Run) -> dict[str, tuple[str, str]]:
    """Prompts and responses of lists, of the samples that have both."""
    found = run.samples() if isinstance(run, Run) else query.every(run, query.SampleQuery())
    return {str(item.key): (item.prompt, item.response) for item in found if item.prompt and item.response}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return joined_run(tmp_path_factory.mktemp("joined") / "run")


@pytest.fixture(scope="module")
def run(folder: Path) -> Iterator[Run]:
    with rolloupe.open(folder, index_dir=folder.parent / "index") as runs:
        runs[0].wait(texts=True)
        yield runs[0]


def test_lists_show_how_joined_texts_begin(run: Run) -> None:
    assert set(told(run)) == TIED and not run.problems()
    assert told(run)["eval/test/0/0/0"][0].startswith("What is 4 + 5?")
    for item in run.samples():
        sample = run.sample(item.key)
        assert (sample.row.prompt, sample.row.response) == (sample.prompt_text, sample.response_text)
        assert item.response_chars == len(sample.response_text)
        assert item.prompt == "" or sample.prompt_text.startswith(item.prompt[:10])


def test_joined_texts_are_searched_each_once(run: Run) -> None:
    hits = [str(hit.sample.key) for hit in run.search("warehouse assistant", roles=["prompt"])]
    assert len(hits) == len(set(hits)) == 8 and set(hits) < TIED
    spoken = {str(hit.sample.key) for hit in run.search("warehouse assistant", roles=["system"])}
    assert spoken == set(hits)


def test_texts_that_are_not_indexed_yet_are_searched_in_the_files(folder: Path, tmp_path: Path) -> None:
    with opened(folder, tmp_path / "index", budget_bytes=0) as library:
        assert len(keys(library.runs[0], TextQuery(text="warehouse assistant"))) == 8


def test_joined_texts_are_filtered_and_queried(run: Run, folder: Path, tmp_path: Path) -> None:
    where = "response_chars > 0 and step = 1 and group in (10, 11, 12, 13)"
    assert {str(item.key) for item in run.samples(where=where)} == {key for key in TIED if "/1/" in key[:12]}
    done = command("query", folder, "--where", where, "--to", tmp_path / "found.jsonl")
    assert done.code == 0
    found = [json.loads(line) for line in (tmp_path / "found.jsonl").read_text().splitlines()]
    assert {one["id"]: (one["prompt"], one["response"]) for one in found} == {
        one["id"]: (run.sample(one["id"]).prompt_text, run.sample(one["id"]).response_text) for one in found
    }
    assert "47 + 46: add tens" in command("query", folder, "--where", where).out


def test_the_grid_knows_a_prompt_by_its_joined_prompt(run: Run) -> None:
    grid = run.prompts_by_step("eval/test")
    known = {row.prompt[:14]: row.n for row in grid.prompts if row.prompt}
    assert len(known) >= 2 and all(-1 not in n for n in known.values())


@pytest.mark.parametrize("texts", ["start", "whole"])
def test_exports_hold_joined_texts(folder: Path, texts: str) -> None:
    with opened(folder, folder.parent / "index") as library:
        app = served(library)
        files = {to: get(app, f"/api/runs/run/export?to={to}&texts={texts}").body for to in ("jsonl", "csv", "parquet")}
    found = {
        "jsonl": [json.loads(line) for line in files["jsonl"].splitlines()],
        "csv": list(csv.DictReader(io.StringIO(files["csv"].decode("utf-8-sig")))),
        "parquet": pq.read_table(io.BytesIO(files["parquet"])).to_pylist(),
    }
    for rows in found.values():
        assert {row["id"] for row in rows if row["prompt"] and row["response"]} == TIED


@pytest.mark.parametrize("layout", ["tinker", "relax", "native"])
def test_conversions_hold_joined_texts_once(run: Run, folder: Path, tmp_path: Path, layout: str) -> None:
    assert command("convert", folder, tmp_path / "out", "--to", layout).code == 0
    with rolloupe.open(tmp_path / "out") as its:
        before, after = told(run), told(its[0])
        assert len(before) == len(after) == len(TIED)
        assert layout != "tinker" or set(before.values()) == set(after.values())
        one = its[0].sample(next(iter(its[0].samples(where="group = 0 and index = 0"))).key)
        assert [turn.role for turn in one.turns] == ["user", "assistant", "user", "assistant"]
        assert len(list(its[0].search("warehouse assistant", roles=["prompt"]))) == 8


@pytest.mark.slow
def test_a_report_that_comes_later_brings_the_texts(tmp_path: Path) -> None:
    folder = joined_run(tmp_path / "run")
    log = folder / f"eval_test_iteration_000001{TREE}"
    held = log.read_bytes()
    log.unlink()
    with opened(folder, tmp_path / "index", follow=True) as library:
        run = library.runs[0]
        assert run.wait_all(30) and len(told(run)) == 8
        log.write_bytes(held[: len(held) // 2])
        eventually(lambda: len(query.problems(run)) == 1)
        assert len(told(run)) == 8

        def is_told() -> bool:
            assert ("eval/test", 1) in run.snapshot().steps  # the numbers stay while texts are looked for
            return set(told(run)) == TIED

        log.write_bytes(held)
        eventually(is_told)
        assert query.problems(run) == []
        eventually(lambda: len(keys(run, TextQuery(text="warehouse assistant"))) == 8)


@pytest.mark.slow
def test_a_report_that_is_being_written_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = joined_run(tmp_path / "run")
    log = folder / f"eval_test_iteration_000001{TREE}"
    held = log.read_bytes()
    log.unlink()
    read: list[str] = []
    whole = tinker_logs.StepLog.read

    def reading(one: tinker_logs.StepLog) -> Any:
        read.append("read")
        return whole(one)

    monkeypatch.setattr(tinker_logs.StepLog, "read", reading)
    with opened(folder, tmp_path / "index", follow=True) as library:
        run = library.runs[0]
        assert run.wait_all(30) and len(told(run)) == 8
        read.clear()
        with log.open("wb") as file:
            for number in range(8):  # one piece after another, over more than a second
                file.write(held[len(held) * number // 8 : len(held) * (number + 1) // 8])
                file.flush()
                time.sleep(0.2)
        assert read == []
        eventually(lambda: set(told(run)) == TIED)
        assert query.problems(run) == []


def test_a_step_whose_prompts_came_later_has_changed(tmp_path: Path) -> None:
    both = [trajectory(0, 1.0), trajectory(1, 1.0)]  # which response is whose is not certain
    loaded(tmp_path, both, group(both, *triple("It is 4", 1.0), *triple("4", 1.0)))
    log, away = tmp_path / f"train_iteration_000000{TREE}", tmp_path.parent / "away"
    asked = query.SampleQuery(splits=("train",), step_min=0, step_max=0)
    log.rename(away)
    stamps = []
    for prompt in ("", "What is 2 + 2?"):
        with opened(tmp_path, tmp_path.parent / "index") as library:
            page = query.samples(library.runs[0], asked)
            assert [item.prompt for item in page.samples] == [prompt] * 2
            stamps.append(page.stamp)
        if away.exists():
            away.rename(log)
    assert stamps[0] != stamps[1]


def test_numbers_wait_for_no_report(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, go_on = tinker_logs.StepLog.read, threading.Event()
    monkeypatch.setattr(tinker_logs.StepLog, "read", lambda log: whole(log) if go_on.wait(30) else {})
    with Library([folder], index_dir=tmp_path / "index") as library:
        run = library.runs[0]
        eventually(lambda: set(run.snapshot().steps) == {("eval/test", 0), ("eval/test", 1)})
        assert not run.wait(0) and told(run) == {}
        go_on.set()
        assert run.wait(30) and set(told(run)) == TIED


def test_a_report_that_changed_while_nobody_looked_brings_the_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = joined_run(tmp_path / "run")
    log = folder / f"eval_test_iteration_000001{TREE}"
    held = log.read_bytes()
    for content, known in ((None, 8), (held, 16), (held.replace(b"What is 4 + 5?", b"Which is 4 + 5?"), 16), (None, 8)):
        log.unlink(missing_ok=True)
        if content is not None:
            log.write_bytes(content)
            os.utime(log, ns=(0, time.time_ns()))
        with opened(folder, tmp_path / "index") as library:
            assert library.runs[0].wait_all(30) and len(told(library.runs[0])) == known
            which = keys(library.runs[0], TextQuery(text="Which is 4 + 5?"))
            assert bool(which) == (content is not None and b"Which" in content)
    metas = list((tmp_path / "index").rglob("*.meta"))
    assert len(metas) == 5  # another viewer may still read what was known before
    for meta in metas:
        os.utime(meta, ns=(0, meta.stat().st_mtime_ns - int((SUPERSEDED_S + 5) * 1e9)))
    built: list[Job] = []

    def building(job: Job, ended: threading.Event) -> JobReply:
        built.extend([job] if isinstance(job, ScanJob) else [])
        return perform(job, ended)

    monkeypatch.setattr(execution, "perform", building)
    with opened(folder, tmp_path / "index") as library:
        assert library.runs[0].wait_all(30) and len(told(library.runs[0])) == 8
    assert len(list((tmp_path / "index").rglob("*.meta"))) == 2  # after a while nothing of it lies about
    assert built == []  # and the newest was the one that counted


def test_who_began_before_the_texts_came_reads_on(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, go_on = tinker_logs.StepLog.read, threading.Event()
    monkeypatch.setattr(tinker_logs.StepLog, "read", lambda log: whole(log) if go_on.wait(30) else {})
    with Library([folder], index_dir=tmp_path / "index") as library:
        run = library.runs[0]
        eventually(lambda: set(run.snapshot().steps) == {("eval/test", 0), ("eval/test", 1)})
        before = run.snapshot()
        looking = search(run, TextQuery(text="warehouse assistant"))
        go_on.set()
        assert run.wait_all(30) and run.snapshot().version != before.version
        found = list(looking)
        assert sum(len(each.hits) for each in found) == 8 and found[-1].progress.notes == ()


def test_what_comes_back_finds_the_index_as_it_was(tmp_path: Path) -> None:
    """A folder of a network may be gone for a moment; what is indexed of the others is not superseded by itself."""
    folder = joined_run(tmp_path / "run")
    moved = folder / f"eval_test_iteration_000001{ROLLOUTS}"
    with opened(folder, tmp_path / "index", follow=True) as library:
        run = library.runs[0]
        assert run.wait_all(30)
        files = [*(tmp_path / "index").rglob("*.meta")]
        for meta in files:
            os.utime(meta, (0, time.time() - SUPERSEDED_S - 5))
        moved.rename(tmp_path / "away")
        eventually(lambda: len(run.snapshot().steps) == 1)
        (tmp_path / "away").rename(moved)
        eventually(lambda: len(run.snapshot().steps) == 2)
        assert all(segment.path.exists() for segment in run.snapshot().segments)


def test_a_compressed_report_is_read_too(tmp_path: Path) -> None:
    folder = joined_run(tmp_path / "run")
    for log in list(folder.glob(f"*{TREE}")):
        log.with_name(f"{log.name}.gz").write_bytes(gzip.compress(log.read_bytes()))
        log.unlink()
    with rolloupe.open(folder, index_dir=tmp_path / "index") as runs:
        assert set(told(runs[0])) == TIED


def test_rows_with_texts_of_their_own_need_no_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    said = [{"role": "user", "content": "its own"}, {"role": "assistant", "content": "yes"}]
    loaded(folder, [trajectory(0, 1.0, conversation=said)])
    log = folder / f"train_iteration_000000{TREE}"
    log.unlink()
    scanned: list[str] = []
    with opened(folder, tmp_path / "index", follow=True) as library:
        run = library.runs[0]
        monkeypatch.setattr(logtree, "tree_in", lambda *_: scanned.append("read"))
        assert run.wait_all(30)
        version = run.version
        log.write_text("no tree")
        eventually(lambda: run.sources.has_grown)
        time.sleep(0.3)
        assert told(run) == {"train/0/0/0": ("its own", "yes")}
        assert (run.version, run.problem_count(), scanned) == (version, 0, [])


DEEP = b'{"root":' + b'{"tag":"div","attrs":{},"children":[' * 5000 + b"]}" * 5000 + b"}"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not JSON"), (b'{"title": "x", "root": {"tag": "body", "chi', "not JSON"), (b"[]", "not a JSON object"),
        (b'{"root": 3}', "it has no root"), (DEEP, "nested too deeply"), (b"\xff\xfe\x00", "not JSON"),
    ],
)  # fmt: skip
def test_a_report_that_cannot_be_read_is_a_problem_said_once(tmp_path: Path, content: bytes, reason: str) -> None:
    folder = joined_run(tmp_path / "run")
    (folder / f"eval_test_iteration_000001{TREE}").write_bytes(content)
    with rolloupe.open(folder, index_dir=tmp_path / "index") as runs:
        (problem,) = runs[0].problems()
        assert problem.source == f"eval_test_iteration_000001{TREE}" and reason in problem.reason
        assert len(told(runs[0])) == 8 and len(list(runs[0].samples())) == 24


def test_a_report_that_is_too_long_is_a_problem(tmp_path: Path) -> None:
    folder = joined_run(tmp_path / "run")
    with (folder / f"eval_test_iteration_000001{TREE}").open("ab") as file:
        file.truncate(logtree.MAX_BYTES + 1)
    with rolloupe.open(folder, index_dir=tmp_path / "index") as runs:
        (problem,) = runs[0].problems()
        assert "longer than 64 MiB" in problem.reason and len(told(runs[0])) == 8


def test_rollouts_too_long_to_be_joined_are_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tinker_logs, "MAX_JOINED_BYTES", 1000)
    folder = joined_run(tmp_path / "run")
    with rolloupe.open(folder, index_dir=tmp_path / "index") as runs:
        assert ["tied to none" in problem.reason for problem in runs[0].problems()] == [True, True]
        assert told(runs[0]) == {}


def test_a_report_of_many_messages_is_joined_in_a_moment(tmp_path: Path) -> None:
    """Each conversation of a trajectory is looked at once."""
    folder, count = tmp_path / "run", amount(2_000, 20_000)
    folder.mkdir()
    own = [section("R", talk(("user", str(n))), data_trajectory="0") for n in range(count)]
    began = time.monotonic()
    (sample,) = loaded(folder, [trajectory(0, 1.0)], section("G", *own, data_group="0"))
    assert len(sample.turns) == count + 1
    assert time.monotonic() - began < 60


class Compared(str):
    """A text that counts how often it is held against another one."""

    __slots__ = ()
    times = 0

    def __eq__(self, other: object) -> bool:
        Compared.times += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def test_groups_are_not_held_against_every_section(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count = 200
    whole = logtree.table_of

    def compared(node: LogNode) -> dict[str, str]:
        return {name: Compared(value) for name, value in whole(node).items()}

    monkeypatch.setattr(tinker_logs, "table_of", compared)
    records = [trajectory(0, n + 1.0, group=n) for n in range(count)]
    sections = [
        group([record], *triple(f"Of group {record['group_idx']}", record["total_reward"]))
        for record in reversed(records)
    ]
    found = loaded(tmp_path, records, *sections)
    assert [sample.response_text for sample in found] == [f"Of group {n}" for n in range(count)]
    assert 0 < Compared.times < 20 * count  # all with all are 40,000


def test_hostile_texts_of_a_report_stay_text(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    evil = "\u202eevil\u202c \x1b]0;owned\x07 <script>x</script> \ud800 \x00"
    loaded(
        folder,
        [trajectory(0, 1.0)],
        section("R", talk(("user", evil), ("assistant", evil)), data_group="0", data_trajectory="0"),
    )
    with rolloupe.open(folder, index_dir=tmp_path / "index") as runs:
        (item,) = runs[0].samples()
        assert "<script>x</script>" in item.prompt and "\n" not in item.prompt
        item.prompt.encode()
        assert len(list(runs[0].search("<script>x"))) == 1
        done = command("query", folder)
        assert done.code == 0 and "\x1b" not in done.out and "\u202e" not in done.out


def test_a_run_without_reports_reads_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = joined_run(tmp_path / "run")
    for log in folder.glob(f"*{TREE}"):
        log.unlink()
    monkeypatch.setattr(logtree, "content", partial(pytest.fail, "a report was looked for"))
    with rolloupe.open(folder, index_dir=tmp_path / "index") as runs:
        assert told(runs[0]) == {} and not runs[0].problems()
