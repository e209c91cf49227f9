"""Conversion of a made-up run: the samples in memory at a time, and the reports of progress."""

import gc
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rolloupe.errors import NotRecognised, NotWritable, SourceChanged
from rolloupe.export import check, convert
from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.model import Checkpoint, Locator, MetricRow, Sample, SampleKey, SampleRow
from rolloupe.query import SplitSummary, Stats, StepSummary
from tests.formats.support import only_run, rows

REWARD = Stats(0, None, None, None, None, 0)


class Made:
    """A run of one step, which knows how many of its samples are held."""

    def __init__(self, size: int, fails_at: int = -1) -> None:
        self.id, self.path, self.size, self.fails_at = "made", "/nowhere/made", size, fails_at
        self.most = 0
        self._alive: weakref.WeakSet[Any] = weakref.WeakSet()

    @property
    def config(self) -> dict[str, Any]:
        return {}

    @property
    def checkpoints(self) -> list[Checkpoint]:
        return []

    def splits(self) -> list[SplitSummary]:
        return [SplitSummary("train", 1, 1, self.size, 0, 0, REWARD)]

    def steps(self, split: str | None = None) -> list[StepSummary]:
        return [StepSummary("train", 0, self.size, REWARD)]

    def metric_rows(self) -> list[MetricRow]:
        return [MetricRow(step=0, values={"loss": 1.0})]

    def code_diff(self) -> str:
        return ""

    def logtrees(self) -> list[tuple[str, int]]:
        return []

    def report_files(self, step: int, split: str | None = None) -> dict[str, bytes]:
        return {}

    def whole(self, step: int, split: str | None = None) -> Iterator[Sample]:
        for number in range(self.size):
            if number == self.fails_at:
                raise SourceChanged("gone")
            sample = _sample(number)
            self._alive.add(sample)
            if number % 100 == 0:
                gc.collect()
                self.most = max(self.most, len(self._alive))
            yield sample


class Weak(Sample, weakref=True, eq=False):
    """A sample that can be watched."""


def _sample(number: int) -> Sample:
    row = SampleRow(
        split="train",
        step=0,
        group=parsers.digest(""),
        index=str(number),
        ordinal=number,
        start=0,
        length=1,
        reward=1.0,
    )
    locator = Locator(source="s", start=0, length=1)
    return Weak(key=SampleKey("train", 0, "g", str(number)), row=row, locator=locator, turns=[])


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["relax", "rl_logging_board"])
def test_one_sample_is_held_at_a_time(tmp_path: Path, layout: str) -> None:
    run = Made(500)
    told: list[tuple[int, int]] = []
    done = convert(run, tmp_path / "out", layout, advanced=lambda number, count: told.append((number, count)))
    assert run.most <= 3
    assert told == [(number, 500) for number in range(1, 501)]
    by_place = {} if layout == "relax" else {"sample number": 499}  # of the first, number and place are both 0
    assert (done.samples, done.steps, done.left) == (500, 1, {**by_place, "rows of trainer metrics": 1})
    assert len(rows(only_run(tmp_path / "out"))) == 500


def test_a_source_that_changes_meanwhile_ends_it_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(SourceChanged):
        convert(Made(9, fails_at=5), tmp_path / "new/out", "relax")
    assert list(tmp_path.iterdir()) == []


def test_a_layout_or_a_place_that_will_not_do_is_known_beforehand(tmp_path: Path) -> None:
    with pytest.raises(NotRecognised, match="There are: native, tinker, prime_rl"):
        convert(Made(1), tmp_path / "out", "generic")
    with pytest.raises(NotWritable):
        convert(Made(1), Path("/nowhere/made/below"), "relax")
    with pytest.raises(NotWritable):
        check(tmp_path, [tmp_path / "source"], force=False)


def test_what_native_cannot_hold_of_counts_is_said_and_nothing_is_warned_of(tmp_path: Path) -> None:
    class Odd(Made):
        def whole(self, step: int, split: str | None = None) -> Iterator[Sample]:
            for sample in super().whole(step, split):
                sample.row.uid, sample.row.turns, sample.unread_tokens = "one", 0, 5
                sample.row.prompt_tokens, sample.row.response_tokens, sample.row.total_tokens = 3, 4, 9
                yield sample

    left = convert(Odd(2), tmp_path / "out", "native").left  # warnings are errors here
    assert left == {"total tokens": 2, "tokens beyond those that are read of a sample": 2}
    assert [(row.turns, row.total_tokens) for row in rows(only_run(tmp_path / "out"))] == [(0, 7), (0, 7)]
