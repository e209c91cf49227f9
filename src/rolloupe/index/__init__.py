"""The index: sources scanned into immutable Parquet segments, kept up to date while a run grows."""

from rolloupe.index.columns import column_of, metric_column, tag_column
from rolloupe.index.library import Library
from rolloupe.index.run import OpenRun
from rolloupe.index.sketch import Sketch
from rolloupe.index.snapshot import Piece, Segment, Snapshot, StepKey

__all__ = [
    "Library",
    "OpenRun",
    "Piece",
    "Segment",
    "Sketch",
    "Snapshot",
    "StepKey",
    "column_of",
    "metric_column",
    "tag_column",
]
