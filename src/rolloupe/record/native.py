"""Runs of any layout written in the native one."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar

import msgspec
import numpy as np

from rolloupe.model import Checkpoint, MetricRow, Sample
from rolloupe.record.base import Left
from rolloupe.record.of_model import given_of
from rolloupe.record.recorder import Recorder


class Writer:
    """Writes a run as the recorder does. Of metrics and samples nothing is added that was not there."""

    name: ClassVar[str] = "native"

    def __init__(self, path: str | Path, *, config: object = None) -> None:
        self.recorder = Recorder(path, config=config, code=None, strict=True, on_full="block")

    def write(self, split: str, step: int, samples: Iterable[Sample]) -> Left:
        """See `Writer` of `base`."""
        left: Counter[str] = Counter()
        for sample in samples:
            self.recorder.sample(**{**given_of(sample), "split": split, "step": step})
            left.update(_left(sample))
        return left

    def metrics(self, rows: Sequence[MetricRow]) -> Left:
        """See `Writer` of `base`."""
        for row in rows:
            self.recorder.metrics(row.step, row.values)
        return {}

    def checkpoints(self, some: Iterable[Checkpoint]) -> None:
        """Write checkpoints."""
        for one in some:
            if one.step is not None:
                self.recorder.checkpoint(one.name, step=one.step, paths=one.paths, loop_state=one.extra)

    def close(self) -> None:
        """See `Writer` of `base`."""
        self.recorder.close()


def _left(sample: Sample) -> dict[str, int]:
    """What the layout does not hold of a sample."""
    bare = {"role", "parts", "origin", "name", "tool_call_id"}
    told = any(
        {name for name, value in msgspec.structs.asdict(turn).items() if value not in (None, "", {})} - bare
        for turn in sample.turns
    )
    fine = any(_is_fine(one.values) for one in sample.series)
    found = {"facts of single turns": told, "digits beyond float32 of token series": fine}
    return {what: 1 for what, is_left in found.items() if is_left}


def _is_fine(values: list[float]) -> bool:
    exact = np.asarray(values, dtype=np.float64)
    with np.errstate(over="ignore"):
        return not np.array_equal(exact, exact.astype(np.float32), equal_nan=True)
