"""What a kind of segments is: files that lie beside each other, one set for each part of a source."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from rolloupe.index.segments.segment import SegmentMeta
    from rolloupe.model import SampleRow


class Backfilled(NamedTuple):
    """How a kind is written behind the numbers, from the rows of a part with their texts."""

    is_written: "Callable[[Path, SegmentMeta], bool]"
    """Tells whether the files are there and hold what this version would write."""
    write: "Callable[[Path, SegmentMeta, Sequence[SampleRow]], None]"
    """Writes them, beside the segment at the path. Raises `OSError`."""


class SegmentKind(NamedTuple):
    """A kind of segments."""

    name: str
    version: int
    """Raise it when the shape changes, or what a format makes of a line: segments of this kind are made anew."""
    phase: Literal["scan", "backfill"]
    """`scan`: written as soon as a part was read; `backfill`: behind that, newest step first."""
    order: int
    """Within its phase."""
    ending: str
    """How the names of its files end."""
    is_budgeted: bool = False
    """True where the files may go, the oldest first, when room is short."""
    backfilled: Backfilled | None = None
