"""Bookmarks as programs see them: `run.bookmarks()`."""

import contextlib
import gc
import importlib
import json
from pathlib import Path

import pytest

import rolloupe
from rolloupe import query
from rolloupe.model import SampleKey
from rolloupe.query import SampleQuery
from rolloupe.state import State
from rolloupe.state.records import Change, Mark, SampleMark, marks_of
from tests.index.support import lines, row


def run_with_uids(folder: Path) -> Path:
    """A run in the native layout, of four samples that their framework calls u0 to u3."""
    rows = [
        {
            "uid": f"u{n}",
            "step": 0,
            "group": "g",
            "index": str(n),
            "prompt": "?",
            "response": f"Answer {n}",
            "reward": n,
        }
        for n in range(4)
    ]
    (folder / "samples").mkdir(parents=True)
    (folder / "samples/rank0.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    (folder / "rolloupe.json").write_text(json.dumps({"layout": "rolloupe", "version": 1}))
    return folder


def test_the_samples_of_many_marks_are_looked_up_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some at a time."""
    train = tmp_path / "run" / "rollout_result" / "train"
    train.mkdir(parents=True)
    rows = [row(0, n, response=f"Answer {n}") for n in range(30)]
    (train / "0.jsonl").write_bytes(lines([*rows, row(0, 7, response="again")]))
    monkeypatch.setattr(importlib.import_module("rolloupe.query.samples.pages"), "BATCH", 10)
    with rolloupe.open(tmp_path / "run", index_dir=tmp_path / "index", state_dir=tmp_path / "state") as runs:
        run = runs.indexed()
        items = list(query.every(run, SampleQuery()))
        keys = [*(item.key for item in items), SampleKey("train", 0, "x", "0"), SampleKey("train", 5, "0", "0")]
        found = query.named(run, keys)
        assert len(found) == 31 and any(key.attempt for key in found)
        state = State(tmp_path / "state")
        for key in keys:
            if not key.attempt:
                value = SampleMark(bookmarked=True, note="", uid="", excerpt="as it was")
                state.write(Change(kind="sample", name=str(key), value=value, seen=0), run)
        state.close()
        assert [(one.id, one.response) for one in runs.bookmarks() if one.is_there] == [
            (str(item.key), item.response) for item in items if not item.key.attempt
        ]


def test_marks_cost_the_collector_of_garbage_nothing() -> None:
    mark = SampleMark(bookmarked=True)
    item = Mark(kind="sample", owner="o", name="train/0/g/1", value=mark, version=1, changed_s=0.0)
    (marked,) = marks_of([item])
    assert not any(map(gc.is_tracked, (mark, item, marked, marked.key)))


PLAIN_IDS = (
    *("train/0/g/1", "train/12/g/1", "eval/x/3/g/1", "train/3//", "/3/g/1", "train/-1/g/1", "a%2Fb/1/g%7E/1"),
    *("train/1/g/1~2", "train/01/g/1", "train//g/1", "train/²/g/1", "train/x/g/1", "train/1/g", "1/g/1"),
    *(f"train/{'1' * 100}/g/1", f"train/{'1' * 101}/g/1", "train/-0/g/1", "tr~ain/1/g/1", "train/1/g\n/1"),
)


def test_plain_ids_are_read_as_all_others_are() -> None:
    def read(text: str) -> SampleKey | None:
        try:
            return SampleKey.parse(text)
        except ValueError:
            return None

    for name in PLAIN_IDS:
        assert read(name) == read(name.replace("g", "%67").replace("a", "%61")), name


def test_the_environment_names_the_place_of_marks_for_programs_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, index, kept = run_with_uids(tmp_path / "run"), tmp_path / "index", tmp_path / "state"
    monkeypatch.setenv("ROLLOUPE_STATE_DIR", str(kept))
    with rolloupe.open(folder, index_dir=index) as runs, contextlib.closing(State(kept)) as state:
        change = Change(kind="sample", name="train/0/g/1", value=SampleMark(bookmarked=True), seen=0)
        state.write(change, runs[0].indexed())
        assert [bookmark.id for bookmark in runs.bookmarks()] == ["train/0/g/1"]


def test_what_was_marked_in_the_page_is_read_here(tmp_path: Path) -> None:
    folder, index, kept = run_with_uids(tmp_path / "run"), tmp_path / "index", tmp_path / "state"
    with rolloupe.open(folder, index_dir=index, state_dir=kept) as runs:
        assert runs.bookmarks() == []
        assert not kept.exists()
        state = State(kept)
        for name, text, uid in (
            ("train/0/g/1", "", "u1"),
            ("train/0/g/2", "look", ""),
            ("train/9/gone/0", "its id was another one", "u3"),
            ("train/9/gone/1", "", "u9"),
        ):
            value = SampleMark(bookmarked=not text, note=text, uid=uid, excerpt="as it was")
            change = Change(kind="sample", name=name, value=value, seen=0)
            assert not state.write(change, runs[0].indexed()).is_conflict
        state.close()
        found = runs.bookmarks()
        assert [(one.id, one.is_bookmarked, one.note, one.is_there, one.response) for one in found] == [
            ("train/0/g/1", True, "", True, "Answer 1"),
            ("train/0/g/2", False, "look", True, "Answer 2"),
            ("train/0/g/3", False, "its id was another one", True, "Answer 3"),
            ("train/9/gone/1", True, "", False, "as it was"),
        ]
        assert found.arrow()["id"].to_pylist() == [one.id for one in found]
