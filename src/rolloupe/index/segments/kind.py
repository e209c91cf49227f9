"""Kinds of segments: sets of files, one set for each part of a source."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from rolloupe.index.segments.derived_values import DerivedMeta
    from rolloupe.index.segments.segment import SegmentMeta
    from rolloupe.model import SampleRow


class Backfilled(NamedTuple):
    """Writes a kind after the numbers, from the rows of a part with their texts."""

    is_written: "Callable[[Path, SegmentMeta], bool]"
    """Tells whether the files exist with the content that this version would write."""
    write: "Callable[[Path, SegmentMeta, Sequence[SampleRow]], DerivedMeta | None]"
    """Writes the files beside the segment at the path, and returns the facts about derived metrics, if it knows them.

    Raises `OSError`.
    """


class SegmentKind(NamedTuple):
    """A kind of segments."""

    name: str
    version: int
    """Raise it when the shape changes, or the way formats read a line: segments of this kind are then rebuilt."""
    ending: str
    """The ending of its file names."""
    is_budgeted: bool = False
    """True if the files may be deleted, the oldest first, when room is short."""
    backfilled: Backfilled | None = None
    """None for what is written as soon as a part is read; other kinds follow later, newest step first."""
