"""Writes runs of any layout in the native one."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rolloupe.model import Checkpoint, MetricRow, Sample
from rolloupe.record.arguments import name
from rolloupe.record.folder import Folder
from rolloupe.record.recorder import Recorder
from rolloupe.record.samples import given_of
from rolloupe.record.token_series import IDS, Array, facts
from rolloupe.record.writers.base import Left, Writer
from rolloupe.record.writers.comparison import Tally, read_back

if TYPE_CHECKING:
    from rolloupe.record.background import QueuedLine

SAMPLES = "samples/rank0.jsonl"


class Copier(Recorder):
    """A recorder of existing samples: it generates no uids, and keeps the last sample."""

    last: "QueuedLine"
    """The line of the last sample, with its token series."""

    def _uid(self, uid: object) -> str:
        return name(uid)

    def _sent(self, item: "QueuedLine") -> None:
        self.last = item


class NativeWriter(Writer):
    """Writes a run as the recorder does, without derived metrics or generated values."""

    name: ClassVar[str] = "native"

    def __init__(self, path: str | Path) -> None:
        self.recorder = Copier(path, code=None, strict=True, on_full="block")

    def write(self, split: str, step: int, samples: Iterable[Sample]) -> Left:
        tally = Tally()
        for sample in samples:
            self.recorder.sample(**{**given_of(sample), "split": split, "step": step})
            tally.compare(sample, _copy_of(self.recorder.last))
        return tally.found

    def metrics(self, rows: Sequence[MetricRow]) -> Left:
        for row in rows:
            self.recorder.metrics(row.step, row.values)
        return {}

    def keep(self, config: Mapping[str, Any], checkpoints: Sequence[Checkpoint], code_diff: str) -> Left:
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
        self.recorder.close()


def _copy_of(item: "QueuedLine") -> Sample | None:
    """Return the sample that Rolloupe reads from a recorded line, with its token series."""
    from rolloupe.formats.native.format import Native, add_arrays

    series = {"part": 0, "row": 0, "facts": facts(item.series)} if item.series else None
    record = {**item.record, **({"series": series} if series else {})}
    sample = read_back(Native(), record, SAMPLES, None, 0, nan=True)
    if sample is not None:
        add_arrays(sample, *_arrays(item.series))
    return sample


def _arrays(series: Mapping[str, Array]) -> tuple[list[int], dict[str, Any]]:
    floats = {name: values.astype(np.float64) for name, values in series.items() if name != IDS}
    return [int(one) for one in series[IDS]] if IDS in series else [], floats
