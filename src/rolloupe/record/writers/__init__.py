"""Writers, one for each framework's layout.

A module of this package, named after a layout, has the framework's own functions, with their signatures, and a
`Writer`, which takes samples of any format. A layout holds less than the common model; a writer reports what it leaves
out, and never loses anything silently. `WRITERS` has the writable layouts by name.
"""

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Final

from rolloupe.errors import NotRecognised
from rolloupe.model import Checkpoint, MetricRow, Sample

Left = Mapping[str, int]
"""What a layout could not hold: a name for it, and the number of samples or values that lost it."""


class Writer:
    """Writes a run in one layout."""

    name: ClassVar[str]
    """The format that reads it."""
    takes_reports: ClassVar[bool] = False
    """Whether the layout can hold a trainer's logs of a step."""

    def write(self, split: str, step: int, samples: Iterable[Sample]) -> Left:
        """Write the samples of a step, with each group together. Called once for each step of a split."""
        raise NotImplementedError

    def metrics(self, rows: Sequence[MetricRow]) -> Left:
        """Write the trainer's metrics."""
        return {"rows of trainer metrics": len(rows)}

    def report(self, split: str, step: int, files: Mapping[str, bytes]) -> None:
        """Write the logs as they are, by kind, in place of those derived from the step: see `formats.HasReports`."""
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
"""Where each layout's writer is; its argument is the folder to write to."""


def check(name: str) -> None:
    """Raise `NotRecognised`, which names the writable layouts, if this is not one of them."""
    if name not in WRITERS:
        raise NotRecognised(f"no writable layout is named {name!r}. There are: {', '.join(WRITERS)}")


def writer_of(name: str, folder: Path) -> Writer:
    """Return a layout's writer into a folder, which it may create at once. Raises like `check`."""
    check(name)
    module, _, kind = WRITERS[name].partition(":")
    writer: Writer = getattr(import_module(module), kind)(folder)
    return writer
