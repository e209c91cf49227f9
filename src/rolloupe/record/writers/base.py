"""What a writer is: one framework's layout from the other side.

A module of this package named after a layout has that framework's own functions, called as they are called there, and
a `Writer`, which takes what any format reads. A layout holds less than the common model: what is left out is said,
never lost in silence.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Protocol, runtime_checkable

from rolloupe.model import Checkpoint, MetricRow, Sample

Left = Mapping[str, int]
"""What a layout could not hold: a word for it, and of how many samples or values it was left out."""


class Writer(Protocol):
    """Writes a run in one layout."""

    name: ClassVar[str]
    """The format that reads it."""

    def write(self, split: str, step: int, samples: Iterable[Sample]) -> Left:
        """Write the samples of a step, those of a group side by side. Called once for each step of a split."""
        ...

    def metrics(self, rows: Sequence[MetricRow]) -> Left:
        """Write the trainer's metrics."""
        ...

    def close(self) -> None:
        """Write what is left. What was written stands when this returns."""
        ...


@runtime_checkable
class ReportKeeper(Protocol):
    """A writer whose layout has a place for what a trainer logged of a step."""

    def report(self, split: str, step: int, files: Mapping[str, bytes]) -> None:
        """Write it as it is, by kind, in place of what was written of the step before: see `formats.HasReports`."""
        ...


@runtime_checkable
class Keeper(Protocol):
    """A writer whose layout has a place for what a run has beside samples and metrics."""

    def keep(self, config: Mapping[str, Any], checkpoints: Sequence[Checkpoint], code_diff: str) -> Left:
        """Write the configuration, the checkpoints and what the code differed by; empty where there is none."""
        ...
