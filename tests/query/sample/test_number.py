"""A sample by its number in its step: counted where a question asks for it, in the order of the files."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from rolloupe import Recorder, query
from rolloupe.errors import BadQuery
from rolloupe.index import OpenRun
from rolloupe.query import SampleQuery
from rolloupe.query.filter.parser import conditions
from rolloupe.query.run.completion import complete
from tests.cli.support import rolloupe
from tests.index.support import opened

RANKS, STEPS, SIZE = 2, 3, 5


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """RLLoggingBoard's files of two ranks, the steps of each in turn."""
    place = tmp_path_factory.mktemp("board")
    for rank in range(RANKS):
        rows = [
            {"prompt": f"p{n % 2}", "response": f"rank {rank} step {step} {n}", "reward": float(n), "step": step,
             "response_tokens": ["a"], "logprobs": [-1.0]}
            for n in range(SIZE) for step in range(STEPS)
        ]  # fmt: skip
        (place / f"rank{rank}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return place


@pytest.fixture(scope="module")
def run(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenRun]:
    with opened(folder, tmp_path_factory.mktemp("index")) as library:
        yield library.runs[0]


def found(run: OpenRun, where: str, **more: object) -> list[str]:
    asked = SampleQuery(where=conditions(where), **more)  # type: ignore[pyrefly:bad-argument-type]
    return [item.response for item in query.every(run, asked)]


def test_a_sample_is_found_by_its_number_in_the_step(run: OpenRun) -> None:
    step = {"splits": ("train",), "step_min": 1, "step_max": 1}
    for number in range(0, RANKS * SIZE, 3):
        rank, n = divmod(number, SIZE)
        assert found(run, f"number = {number}", **step) == [f"rank {rank} step 1 {n}"]
    assert found(run, "number = 6") == [f"rank 1 step {step} 1" for step in range(STEPS)]
    assert found(run, "number in (0, 9) and reward > 0") == [f"rank 1 step {step} 4" for step in range(STEPS)]
    assert found(run, "number >= 10") == found(run, "number is null") == []
    assert found(run, "reward = 1 and number > 4", **step) == ["rank 1 step 1 1"]
    last = found(run, "", sort="number", descending=True, **step)
    assert last[:2] == ["rank 1 step 1 4", "rank 1 step 1 3"]
    page = query.groups_page(run, SampleQuery(where=conditions("number = 6"), **step))
    assert [group.samples for group in page.groups] == [1]
    assert "number" in [one.text for one in complete(run, SampleQuery(), "num").found]


def test_numbers_are_those_of_a_step_whatever_is_said_of_its_samples_later(tmp_path: Path) -> None:
    with Recorder(tmp_path / "run", code=None) as recorder:
        for n in range(4):
            recorder.sample(step=0, group="g", index=n, prompt="?", response=f"r{n}", reward=1.0, uid=f"u{n}")
        recorder.step_end(0)
        recorder.annotate("u2", advantage=5.0)
        recorder.annotate("u1", discarded="late")
    with opened(tmp_path / "run", tmp_path / "index") as library:
        run = library.runs[0]
        assert found(run, "number = 2 and advantage = 5") == ["r2"]
        assert found(run, "number >= 1", trained=True) == ["r2", "r3"]


def test_a_sample_metric_of_the_name_goes_before_it(tmp_path: Path) -> None:
    with Recorder(tmp_path / "run", code=None) as recorder:
        for n in range(3):
            recorder.sample(step=0, group="g", index=n, prompt="?", response=f"r{n}", metrics={"number": 10.0 - n})
    with opened(tmp_path / "run", tmp_path / "index") as library:
        assert found(library.runs[0], "number = 9") == ["r1"]
        with pytest.raises(BadQuery):
            query.series(library.runs[0], "numbers")


def test_show_takes_the_number(folder: Path) -> None:
    done = rolloupe("show", folder, "train/2#7")
    assert (done.code, done.err) == (0, "") and "rank 1 step 2 2" in done.out
    for wrong in ("train/2#10", "train/9#0", "eval/x/2#0"):
        missing = rolloupe("show", folder, wrong)
        assert missing.code == 1 and "no run has a sample" in missing.err
