"""The index: sources scanned into immutable Parquet segments, kept up to date while a run grows."""

from rolloupe.index.execution import LITTLE_WORK, NO_WORK, Executor
from rolloupe.index.library import IndexWork, Library, RunSearch, plain_id
from rolloupe.index.run import OpenRun
from rolloupe.index.scans import RunShard
from rolloupe.index.segments.columns import metric_column, tag_column
from rolloupe.index.segments.step_stats import Moments, StepStats, added_stamps
from rolloupe.index.snapshot import Piece, Snapshot, StepKey
