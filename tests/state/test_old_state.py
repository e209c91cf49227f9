"""Addresses, bookmarks, notes and names that an earlier version wrote still open their samples and runs."""

import json
import shutil
from pathlib import Path

import pytest

import rolloupe
from rolloupe.errors import NotFound
from rolloupe.index import Library, OpenRun
from rolloupe.model import SampleKey
from rolloupe.query import SampleQuery, by_uid, every, named, sample, sample_and_group
from rolloupe.state import State
from rolloupe.state.records import Change, RunMark, SampleMark, located_samples, marks_of
from tests.formats.packages import install, on_path
from tests.formats.support import write
from tests.state.old_state import RUNS, digest

ROOT = Path(__file__).parents[2]
OLD = ROOT / "tests/data/old_state"
ADDRESSES = json.loads((OLD / "addresses.json").read_text(encoding="utf-8"))

SKYRL, FILE = "eval/openai_gsm8k", "global_step_{}_evals%2Fopenai_gsm8k"
GROUPS = {
    "train/1/eb3bd6ed69db/1:0": "eb3bd6ed69db-0",
    "train/2/925e99f1946b/2:0": "925e99f1946b-0",
    "train/2/b65502b86d6b/2:4075": "b65502b86d6b-3206",
    f"{SKYRL}/1/dc378458b619/{FILE.format(1)}:0": "dc378458b619-0",
    f"{SKYRL}/3/1a7fa361f98d/{FILE.format(3)}:0": "1a7fa361f98d-0",
    f"{SKYRL}/3/38392e405995/{FILE.format(3)}:3937": "38392e405995-2253",
}
"""The groups that are inferred now where `generic` named them after their prompt alone."""


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
                assert (str(opened.key), digest(opened)) == (now(one["id"]), one["digest"])
                group = run.group_of(one["id"])
                assert opened.key in group and group == run.group_of(opened.key)


def test_bookmarks_notes_and_names_are_those_of_their_samples_and_runs(place: Path) -> None:
    state = State(place.parent / "state")
    assert not state.file.trouble
    with Library([place], index_dir=place.parent / "index") as library:
        for run in library.runs:
            run.wait()
            owner = state.owner(run)
            assert owner is not None, run.id
            assert [mark.value for mark in state.of(owner, "run")] == [
                RunMark(name=f"my {run.id}", colour=2, note=f"about {run.id}")
            ]
            assert located(state, run) == {one["id"]: now(one["id"]) for one in ADDRESSES[run.id]}
            assert {mark.value.note for mark in state.of(owner) if isinstance(mark.value, SampleMark)} == {
                f"a note on {one['id']}" for one in ADDRESSES[run.id]
            }
    state.close()


def now(identity: str) -> str:
    """The id that a sample has now, which differs in its group where verl and SkyRL took over from `generic`."""
    group = GROUPS.get(identity)
    split, step, _, index = identity.rsplit("/", 3)
    return identity if group is None else f"{split}/{step}/{group}/{index}"


def located(state: State, run: OpenRun) -> dict[str, str]:
    """The samples of a run's bookmarks, by the ids under which they were kept; those that are gone are left out."""
    owner = state.owner(run)
    marks = marks_of(state.of(owner)) if owner else []
    pairs = located_samples(marks, lambda keys: named(run, keys), lambda uids: by_uid(run, uids))
    return {mark.item.name: str(item.key) for mark, item in pairs if item is not None}


SPECIFIC = """
from rolloupe.formats.reading import value_parsers as parsers
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
            start=start, length=length, reward=parsers.number(record["score"]), prompt=record["prompt"],
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
