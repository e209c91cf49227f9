"""Writers, one for each framework's layout.

Each module has the framework's own functions, with their signatures, and a `Writer`, which takes samples of any format.
A layout holds less than the common model; a writer reports everything that it leaves out. `WRITERS` has the writable
layouts by name.
"""

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Final

from rolloupe.errors import NotRecognised
from rolloupe.model import Checkpoint, MetricRow, Sample

Left = Mapping[str, int]
"""What a layout could not hold, by name, with the number of samples or values that lost it."""


class Writer:
    """Writes a run in one layout."""

    name: ClassVar[str]
    """The format that reads it."""
    takes_reports: ClassVar[bool] = False
    """Whether the layout can hold a trainer's logs of a step."""

    def write(self, split: str, step: int, samples: Iterable[Sample]) -> Left:
        """Write the samples of a step of a split, group by group; called once for each."""
        raise NotImplementedError

    def metrics(self, rows: Sequence[MetricRow]) -> Left:
        """Write the trainer's metrics."""
        return {"rows of trainer metrics": len(rows)}

    def report(self, split: str, step: int, files: Mapping[str, bytes]) -> None:
        """Write a step's logs as they are, by kind, instead of derived ones: see `Format.report_files`."""
        raise NotImplementedError

    def keep(self, config: Mapping[str, Any], checkpoints: Sequence[Checkpoint], code_diff: str) -> Left:
        """Write the configuration, the checkpoints and the code's difference; each is empty if the run has none."""
        return {
            "configurations": int(bool(config)),
            "checkpoints": len(checkpoints),
            "differences of code": int(bool(code_diff)),
        }

    def close(self) -> None:
        """Finish writing. Everything is on disk when this returns."""


WRITERS: Final = {
    "native": "rolloupe.record.writers.native:NativeWriter",
    "tinker": "rolloupe.record.writers.tinker.writer:TinkerWriter",
    "prime_rl": "rolloupe.record.writers.prime_rl.writer:PrimeRLWriter",
    "relax": "rolloupe.record.writers.relax:RelaxWriter",
    "rl_logging_board": "rolloupe.record.writers.rl_logging_board:RLLoggingBoardWriter",
}
"""The writer of each layout; its argument is the folder to write to."""


def check(name: str) -> None:
    """Raise `NotRecognised`, which names the writable layouts, if this is not one of them."""
    if name not in WRITERS:
        raise NotRecognised(f"no writable layout is named {name!r}. There are: {', '.join(WRITERS)}")


def writer_of(name: str, folder: Path) -> Writer:
    """Return a layout's writer into a folder, which it may create at once. Raises as `check`."""
    check(name)
    module, _, kind = WRITERS[name].partition(":")
    writer: Writer = getattr(import_module(module), kind)(folder)
    return writer
