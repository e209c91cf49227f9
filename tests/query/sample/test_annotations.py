"""What is learned of samples after they were written: joined where a list, a filter or a curve needs it."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

import rolloupe
from rolloupe import query
from rolloupe.index import Library, OpenRun
from rolloupe.query import Condition, SampleQuery
from tests.index.support import eventually, opened

TRACES = "monitors/file/traces"
METRIC = "mismatch_kl"


def node(parent: int | None, role: str) -> dict[str, Any]:
    mask = [role == "assistant"] * 2
    message = {"role": role, "content": f"{role} says"}
    return {"parent": parent, "sampled": mask[0], "message": message, "token_ids": [1, 2], "mask": mask}


def episode(name: str, step: int = 0, forks: int = 1) -> dict[str, Any]:
    """A trace of so many branches, called `name`."""
    nodes = [node(None, "user"), *(node(0, "assistant") for _ in range(forks))]
    return {
        "id": f"e-{name}", "env": {"id": "w"}, "group": {"id": "g"}, "run": {"id": "r", "work": {"step": step}},
        "traces": [{"version": 1, "id": name, "nodes": nodes, "rewards": {}, "info": {"old": 1.0}}],
    }  # fmt: skip


def note(name: str, index: int = 0, values: list[float | None] | None = None, **info: Any) -> dict[str, Any]:
    branches = [{"index": index, METRIC: [None, None, *values]}] if values else []
    return {"version": 1, "trace_id": name, "info": info, "branches": branches}


def append(folder: Path, name: str, *records: dict[str, Any]) -> Path:
    path = folder / TRACES / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(b"".join(json.dumps(record).encode() + b"\n" for record in records))
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two steps: traces a (two branches) and b, and c."""
    folder = tmp_path / "run"
    append(folder, "stream/00000", episode("a", forks=2), episode("b"), episode("c", step=1))
    return folder


def said(run: OpenRun, wanted: SampleQuery | None = None) -> dict[str, tuple[float | None, str, float | None]]:
    """By sample: advantage, why it was discarded, and the metric."""
    found = query.samples(run, wanted or SampleQuery()).samples
    return {item.key.index: (item.advantage, item.discarded, item.metrics.get(METRIC)) for item in found}


def test_what_is_said_of_a_trace_is_said_of_all_its_branches(folder: Path, tmp_path: Path) -> None:
    append(folder, "annotations/orch/00000", note("a", advantage=0.5, effective=True), note("b", effective=False))
    append(folder, "annotations/trainer/00000", note("a", 1, [1.0, 3.0]), note("nobody", 0, [9.0, 9.0]))
    with opened(folder, tmp_path / "index") as library:
        assert said(library.runs[0]) == {
            "a:0": (0.5, "", None), "a:1": (0.5, "", 2.0),
            "b:0": (None, "not effective", None), "c:0": (None, "", None),
        }  # fmt: skip


def test_filters_order_and_totals_go_by_it(folder: Path, tmp_path: Path) -> None:
    notes = [note("a", 0, [3.0, 3.0], advantage=0.5), note("a", 1, [1.0, 1.0]), note("c", 0, [2.0, 2.0], advantage=-1)]
    append(folder, "annotations/orch/00000", *notes, note("b", effective=False))
    with opened(folder, tmp_path / "index") as library:
        run = library.runs[0]
        assert list(said(run, SampleQuery(sort=METRIC, descending=True)))[:3] == ["a:0", "c:0", "a:1"]
        for where, indexes in (
            (Condition("advantage", ">", 0), ["a:0", "a:1"]),
            (Condition(METRIC, "<", 3), ["a:1", "c:0"]),
            (Condition("discarded", "=", "not effective"), ["b:0"]),
        ):
            page = query.samples(run, SampleQuery(where=(where,)))
            assert ([item.key.index for item in page.samples], page.total) == (indexes, len(indexes))
        assert METRIC in query.columns(run)
        points = query.series(run, METRIC)
        assert [(point.step, point.stats.count, point.stats.mean, point.stats.std) for point in points] == [
            (0, 2, 2.0, 1.0), (1, 1, 2.0, 0.0),
        ]  # fmt: skip
        assert [point.stats.mean for point in query.series(run, "advantage")] == [0.5, -1.0]
        assert [point.stats.mean for point in query.series(run, "old")] == [1.0, 1.0]
        table = query.table(run, SampleQuery(sort=METRIC)).to_pydict()
        assert table[METRIC] == [1.0, 2.0, 3.0, None]


def test_of_what_is_said_twice_the_newest_counts(folder: Path, tmp_path: Path) -> None:
    append(folder, "annotations/orch/00009", note("a", advantage=1.0, effective=False, x=1), note("b", advantage=1.0))
    append(folder, "annotations/orch/00010", note("a", advantage=2.0), note("a", effective=True), note("b", old=7))
    append(folder, "annotations/orch/2", note("a", advantage=0.25), note("b", advantage=0.25))
    with opened(folder, tmp_path / "index") as library:
        run = library.runs[0]
        assert said(run)["a:1"] == (2.0, "", None)
        items = {item.key.index: item for item in query.samples(run, SampleQuery()).samples}
        assert items["b:0"].advantage == 1.0
        assert (items["a:0"].metrics, items["b:0"].metrics["old"]) == ({"old": 1.0, "x": 1.0}, 7.0)
        for item in items.values():
            row = query.sample(run, item.key).row
            assert (row.advantage, row.discarded, row.metrics) == (item.advantage, item.discarded, item.metrics)


def test_what_is_appended_shows_in_a_run_that_is_open(folder: Path, tmp_path: Path) -> None:
    with Library([folder], index_dir=tmp_path / "index", follow=True) as library:
        run = library.runs[0]
        assert run.wait(30)
        before = query.steps(run, "train")[0].stamp
        append(folder, "annotations/orch/00000", note("a", advantage=1.0))
        eventually(lambda: said(run)["a:0"][0] == 1.0)
        append(folder, "annotations/orch/00000", note("a", advantage=2.0), note("b", 0, [5.0, 5.0]))
        eventually(lambda: said(run)["a:0"][0] == 2.0)
        assert said(run)["b:0"] == (None, "", 5.0)
        assert query.steps(run, "train")[0].stamp != before
        append(folder, "stream/00000", episode("d", step=2))
        append(folder, "annotations/orch/00000", note("d", advantage=3.0))
        eventually(lambda: said(run).get("d:0", (None,))[0] == 3.0)
        assert [step.step for step in query.steps(run, "train")] == [0, 1, 2]


def test_values_that_a_sum_cannot_hold_and_records_of_no_use_end_nothing(folder: Path, tmp_path: Path) -> None:
    path = append(folder, "annotations/orch/00000", note("a", 0, [1.7e308, None]), note("a", 1, [-1.7e308, None]))
    with path.open("ab") as file:
        file.write(b'{"trace_id": 5}\n[1]\n{"trace_id": "b", "info": {"advantage": NaN, "x": Infinity}}\n{"trace')
    with opened(folder, tmp_path / "index") as library:
        run = library.runs[0]
        advantage = said(run)["b:0"][0]
        assert advantage is not None
        assert math.isnan(advantage)
        assert {item.metrics.get("x") for item in query.samples(run, SampleQuery()).samples} == {None, math.inf}
        for name in (METRIC, "advantage", "x"):
            assert len(query.series(run, name)) == 2
        assert [problem.transient for problem in run.problems()] == [False, True]


def test_a_damaged_piece_of_the_index_is_made_again(folder: Path, tmp_path: Path) -> None:
    append(folder, "annotations/orch/00000", note("a", advantage=0.5))
    for _ in range(2):
        with rolloupe.open(folder, index_dir=tmp_path / "index") as runs:
            assert [sample.key.index for sample in runs.runs[0].samples(where="advantage = 0.5")] == ["a:0", "a:1"]
        for path in (tmp_path / "index").rglob("*.parquet"):
            path.write_bytes(path.read_bytes()[:100])
