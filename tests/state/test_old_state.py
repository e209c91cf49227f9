"""Addresses, bookmarks, notes and names that an earlier version wrote still open their samples and runs."""

import json
import shutil
from pathlib import Path

import pytest
from msgspec.structs import astuple

import rolloupe
from rolloupe.errors import NotFound
from rolloupe.index import Library, OpenRun
from rolloupe.model import SampleKey
from rolloupe.query import SampleQuery, by_uid, every, named, sample, sample_and_group
from rolloupe.state import Change, RunMark, SampleMark, State
from rolloupe.state.mark_lookup import found, marks_of
from tests.formats.packages import install, on_path
from tests.formats.support import write
from tests.state.old_state import RUNS, digest

ROOT = Path(__file__).parents[2]
OLD = ROOT / "tests/data/old_state"
ADDRESSES = json.loads((OLD / "addresses.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The runs of the old state where they were never seen, in a folder of the same name."""
    folder = tmp_path_factory.mktemp("moved") / "runs"
    for name, path in RUNS.items():
        shutil.copytree(ROOT / path, folder / name)
    shutil.copytree(OLD, folder.parent / "state")
    return folder


def test_addresses_open_their_samples(place: Path) -> None:
    with rolloupe.open(place, index_dir=place.parent / "index") as runs:
        assert {run.id for run in runs} == {*ADDRESSES}
        for run in runs:
            for one in ADDRESSES[run.id]:
                opened = run.sample(one["id"])
                assert (kept(opened.key, run.format), digest(opened)) == (kept(one["id"], run.format), one["digest"])


def test_bookmarks_notes_and_names_are_those_of_their_samples_and_runs(place: Path) -> None:
    state = State(place.parent / "state")
    assert not state.trouble
    with Library([place], index_dir=place.parent / "index") as library:
        for run in library.runs:
            run.wait()
            owner = state.owner(run)
            assert owner is not None, run.id
            assert [mark.value for mark in state.of(owner, "run")] == [
                RunMark(name=f"my {run.id}", colour=2, note=f"about {run.id}")
            ]
            of_format = run.info.format
            assert {old: kept(new, of_format) for old, new in located(state, run).items()} == {
                one["id"]: kept(one["id"], of_format) for one in ADDRESSES[run.id]
            }
            assert {mark.value.note for mark in state.of(owner) if isinstance(mark.value, SampleMark)} == {
                f"a note on {one['id']}" for one in ADDRESSES[run.id]
            }
    state.close()


def kept(key: SampleKey | str, of_format: str) -> tuple[str, ...]:
    """What of an id is as it was: all but the group where a format that took over from `generic` infers it."""
    split, step, group, index, _ = astuple(SampleKey.parse(str(key)))
    return (split, str(step), "" if of_format in ("verl", "skyrl") else group, index)


def located(state: State, run: OpenRun) -> dict[str, str]:
    """The samples of a run's bookmarks, by the ids under which they were kept; those that are gone are left out."""
    owner = state.owner(run)
    marks = marks_of(state.of(owner)) if owner else []
    pairs = found(marks, lambda keys: named(run, keys), lambda uids: by_uid(run, uids))
    return {mark.item.name: str(item.key) for mark, item in pairs if item is not None}


SPECIFIC = """
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.jsonl import JsonlFormat
from rolloupe.model import SampleRow

class Quill(JsonlFormat):
    name = "quill"
    title = "Quill"

    def fits(self, record):
        return "quill" in record

    def row(self, source, record, start, length):
        return SampleRow(
            split="train", step=source.step or 0, group=str(record["group"]), index=str(record["try"]), ordinal=start,
            start=start, length=length, reward=fields.number(record["score"]), prompt=record["prompt"],
            response=record["response"],
        )
"""


@pytest.mark.parametrize("is_moved", [False, True])
def test_they_do_when_a_more_specific_format_takes_over(tmp_path: Path, is_moved: bool) -> None:
    folder = tmp_path / "run"
    for step in range(2):
        rows = [
            {"quill": 1, "prompt": "p", "response": f"r{step}-{n}", "score": n, "group": n // 2, "try": n % 2}
            for n in range(4)
        ]
        write(folder / f"{step}.jsonl", *rows)
    state = State(tmp_path / "state")
    with Library([folder], index_dir=tmp_path / "index") as library:
        (run,) = library.runs
        run.wait()
        assert run.info.format == "generic"
        former = [key for key in map(str, keys(run)) if "/1:" in key]
        for old in former:
            state.write(Change(kind="sample", name=old, value=SampleMark(bookmarked=True), seen=0), run)
    install(tmp_path / "site", "quill", {"quill": "quill_specific:Quill"}, {"quill_specific": SPECIFIC})
    if is_moved:
        folder = folder.rename(tmp_path / "elsewhere")
    with on_path(tmp_path / "site"), Library([folder], index_dir=tmp_path / "index") as library:
        (run,) = library.runs
        run.wait()
        assert run.info.format == "quill"
        expected = {old: f"train/1/{n // 2}/{n % 2}" for n, old in enumerate(former)}
        assert located(state, run) == expected
        for n, old in enumerate(former):
            opened = sample(run, SampleKey.parse(old))
            assert (str(opened.key), opened.response_text) == (expected[old], f"r1-{n}")
            assert sample_and_group(run, SampleKey.parse(old))[0].key == opened.key
        with pytest.raises(NotFound):
            sample(run, SampleKey.parse("train/1/x/1:3"))
    state.close()


def keys(run: OpenRun) -> list[SampleKey]:
    """The ids of a run's samples."""
    return [item.key for item in every(run, SampleQuery())]
