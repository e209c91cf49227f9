"""The interface of a writer: writes one framework's layout.

A module of this package, named after a layout, has the framework's own functions, with their signatures, and a
`Writer`, which takes samples of any format. A layout holds less than the common model; a writer reports what it leaves
out, and never loses anything silently.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Protocol, runtime_checkable

from rolloupe.model import Checkpoint, MetricRow, Sample

Left = Mapping[str, int]
"""What a layout could not hold: a name for it, and the number of samples or values that lost it."""


class Writer(Protocol):
    """Writes a run in one layout."""

    name: ClassVar[str]
    """The format that reads it."""

    def write(self, split: str, step: int, samples: Iterable[Sample]) -> Left:
        """Write the samples of a step, with each group together. Called once for each step of a split."""
        ...

    def metrics(self, rows: Sequence[MetricRow]) -> Left:
        """Write the trainer's metrics."""
        ...

    def close(self) -> None:
        """Finish writing. Everything is on disk when this returns."""
        ...


@runtime_checkable
class ReportKeeper(Protocol):
    """A writer whose layout can hold a trainer's logs of a step."""

    def report(self, split: str, step: int, files: Mapping[str, bytes]) -> None:
        """Write the logs as they are, by kind, in place of those derived from the step: see `formats.HasReports`."""
        ...


@runtime_checkable
class Keeper(Protocol):
    """A writer whose layout can hold a run's configuration, checkpoints and code."""

    def keep(self, config: Mapping[str, Any], checkpoints: Sequence[Checkpoint], code_diff: str) -> Left:
        """Write the configuration, the checkpoints and the code's difference; each is empty if the run has none."""
        ...
