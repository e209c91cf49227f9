"""Writes runs of any layout in the native one."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rolloupe.model import Checkpoint, MetricRow, Sample
from rolloupe.record.arguments import given_of, name
from rolloupe.record.folder import Folder
from rolloupe.record.recorder import Recorder
from rolloupe.record.token_series import IDS, facts
from rolloupe.record.writers import Left, Writer
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

    def _queue(self, item: "QueuedLine") -> None:
        self.last = item
        super()._queue(item)


class NativeWriter(Writer):
    """Writes a run as the recorder does, without derived metrics or generated values."""

    name: ClassVar[str] = "native"

    def __init__(self, path: str | Path) -> None:
        self.recorder = Copier(path, code=None, strict=True, on_full="block")

    def write(self, split: str, step: int, samples: Iterable[Sample]) -> Left:
        from rolloupe.formats.native.format import Native, add_arrays

        tally = Tally()
        for sample in samples:
            self.recorder.sample(**dict[str, Any](given_of(sample), split=split, step=step))
            record, series = dict(self.recorder.last.record), self.recorder.last.series
            if series:
                record["series"] = {"part": 0, "row": 0, "facts": facts(series)}
            copy = read_back(Native(), record, SAMPLES, None, 0, nan=True)
            if copy is not None:
                floats = {name: values.astype(np.float64) for name, values in series.items() if name != IDS}
                add_arrays(copy, series[IDS].tolist() if IDS in series else [], floats)
            tally.compare(sample, copy)
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
            folder.code(code_diff)
        for saved in checkpoints:
            self.recorder.checkpoint(saved.name, step=saved.step or 0, paths=saved.paths, loop_state=saved.extra)
        without = sum(saved.step is None for saved in checkpoints)
        return {"that a checkpoint has no step": without} if without else {}

    def close(self) -> None:
        self.recorder.close()
