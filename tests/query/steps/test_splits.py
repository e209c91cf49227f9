"""All evaluations together, as the split `eval`: what is told of them is told of their samples."""

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from rolloupe import Recorder, query
from rolloupe.errors import NotFound
from rolloupe.index import OpenRun
from rolloupe.model import SampleKey
from rolloupe.query import SampleQuery
from rolloupe.query.engine.names import is_asked
from tests.cli.support import rolloupe
from tests.index.support import opened

SIZES = {("train", 0): 4, ("eval/a", 0): 3, ("eval/b", 0): 2, ("eval/b", 5): 2}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("run")
    with Recorder(place, code=None) as recorder:
        for (split, step), size in SIZES.items():
            for n in range(size):
                recorder.sample(
                    split=split, step=step, group=f"{n // 2}", index=n, prompt=f"{split} {n // 2}?", response="!",
                    reward=n + (10.0 if split == "eval/b" else 0.0), metrics={"m": float(n)},
                    discarded="late" if n == 1 else "", series={"advantages": [n]}, advantage=1.0, tokens=["!"],
                )  # fmt: skip
    return place


@pytest.fixture(scope="module")
def run(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenRun]:
    with opened(folder, tmp_path_factory.mktemp("index")) as library:
        yield library.runs[0]


def test_a_name_asks_for_itself_and_eval_for_every_evaluation() -> None:
    splits = ["train", "eval/a", "eval/b/c", "evaluation"]
    assert [one for one in splits if is_asked(one, "eval")] == ["eval/a", "eval/b/c"]
    assert [one for one in splits if is_asked(one, None)] == splits
    assert [one for one in splits if is_asked(one, "eval/a")] == ["eval/a"]


def test_the_samples_of_all_evaluations_are_listed_counted_and_grouped(run: OpenRun) -> None:
    every = [str(item.key) for item in query.every(run, SampleQuery(splits=("eval",)))]
    own = [
        f"{split}/{step}/{n // 2}/{n}" for (split, step), size in SIZES.items() if split != "train" for n in range(size)
    ]
    assert every == own
    one_step = SampleQuery(splits=("eval",), step_min=0, step_max=0)
    for sort in ("index", "reward", "env"):
        page = query.samples(run, SampleQuery(splits=("eval",), step_min=0, step_max=0, sort=sort))
        assert (page.total, len(page.samples)) == (5, 5)
    groups = query.groups_page(run, one_step)
    assert [group.key for group in groups.groups] == [("eval/a", 0, "0"), ("eval/a", 0, "1"), ("eval/b", 0, "0")]
    assert query.samples(run, one_step, SampleKey("eval/b", 0, "0", "1")).offset == 0
    assert query.in_scope(run, one_step) == 5


def test_the_steps_of_all_evaluations_are_of_their_samples_together(run: OpenRun) -> None:
    first, last = query.steps(run, "eval")
    assert [(one.split, one.step, one.samples, one.discarded) for one in (first, last)] == [
        ("eval", 0, 5, 2),
        ("eval", 5, 2, 1),
    ]
    trained = [0.0, 2.0, 10.0]
    assert first.reward.count == 3 and first.reward.mean == pytest.approx(4.0)
    assert first.reward.std == pytest.approx(math.sqrt(sum((one - 4.0) ** 2 for one in trained) / 3))
    assert (first.reward.min, first.reward.max) == (0.0, 10.0)
    page = query.samples(run, SampleQuery(splits=("eval",), step_min=0, step_max=0))
    assert page.stamp == first.stamp != query.steps(run, "eval/a")[0].stamp
    point, later = query.series(run, "m", "eval")
    assert (point.split, point.step, later.step) == ("eval", 0, 5)
    assert point.stats.mean == pytest.approx(2 / 3)
    assert [(one.step, one.stats.count) for one in query.series(run, "advantages", "eval")] == [(0, 3), (5, 1)]
    assert [(one.split, one.step, one.reason, one.samples) for one in query.discards(run, "eval")] == [
        ("eval", 0, "late", 2), ("eval", 5, "late", 1),
    ]  # fmt: skip
    query.steps(run, "eval").clear()  # an answer is the caller's own
    assert query.steps(run, "eval") == [first, last]
    known = {one.name: one for one in query.catalogue(run, "eval").columns}
    assert (known["reward"].low, known["reward"].high) == (0.0, 10.0)


def test_a_run_without_evaluations_has_no_such_split(tmp_path: Path) -> None:
    with Recorder(tmp_path / "run", code=None) as recorder:
        recorder.sample(step=0, group="0", index=0, prompt="?", response="!", reward=1.0)
    with opened(tmp_path / "run", tmp_path / "index") as library:
        for ask in (query.steps, lambda run, split: list(query.every(run, SampleQuery(splits=(split,))))):
            with pytest.raises(NotFound, match="no split 'eval'"):
                ask(library.runs[0], "eval")


def test_the_command_line_and_python_know_them(folder: Path, tmp_path: Path) -> None:
    import rolloupe as package

    found = rolloupe("query", folder, "--split", "eval", "--json").lines
    assert {line["id"].rsplit("/", 3)[0] for line in found} == {"eval/a", "eval/b"} and len(found) == 7
    with package.open(folder, index_dir=tmp_path) as runs:
        assert [str(one.key) for one in runs.samples(split="eval")] == [line["id"] for line in found]
        assert [one.samples for one in runs.steps("eval")] == [5, 2]
