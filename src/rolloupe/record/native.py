"""Runs of any layout written in the native one."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import numpy as np

from rolloupe.model import Checkpoint, MetricRow, Sample
from rolloupe.record.base import Left
from rolloupe.record.folder import Folder
from rolloupe.record.of_model import given_of
from rolloupe.record.recorder import Recorder


class Writer:
    """Writes a run as the recorder does. Of metrics and samples nothing is added that was not there."""

    name: ClassVar[str] = "native"

    def __init__(self, path: str | Path) -> None:
        self.recorder = Recorder(path, code=None, strict=True, on_full="block")

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

    def keep(self, config: Mapping[str, Any], checkpoints: Sequence[Checkpoint], code_diff: str) -> Left:
        """See `Keeper` of `base`."""
        folder = Folder(self.recorder.path)
        if config:
            folder.config(config)
        if code_diff:
            folder.code_as(code_diff)
        for one in checkpoints:
            self.recorder.checkpoint(one.name, step=one.step or 0, paths=one.paths, loop_state=one.extra)
        without = sum(one.step is None for one in checkpoints)
        return {"that a checkpoint has no step": without} if without else {}

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
    row = sample.row
    summed = (
        None if row.prompt_tokens is None or row.response_tokens is None else row.prompt_tokens + row.response_tokens
    )
    other = row.total_tokens not in (None, summed)
    found = {"facts of single turns": told, "tokens in all": other, "digits beyond float32 of token series": fine}
    return {what: 1 for what, is_left in found.items() if is_left}


def _is_fine(values: list[float]) -> bool:
    exact = np.asarray(values, dtype=np.float64)
    with np.errstate(over="ignore"):
        return not np.array_equal(exact, exact.astype(np.float32), equal_nan=True)
