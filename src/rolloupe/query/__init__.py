"""Questions asked of a run. Every face (web, terminal, command line, Python, export) asks these and no others."""

from rolloupe.query.listing import every, samples, table
from rolloupe.query.records import (
    Condition,
    GroupSummary,
    SampleItem,
    SamplePage,
    SampleQuery,
    SeriesPoint,
    SplitSummary,
    Stats,
    StepSummary,
)
from rolloupe.query.single import neighbours, raw, read, sample
from rolloupe.query.summaries import columns, groups, series, splits, step_states, steps

__all__ = [
    "Condition",
    "GroupSummary",
    "SampleItem",
    "SamplePage",
    "SampleQuery",
    "SeriesPoint",
    "SplitSummary",
    "Stats",
    "StepSummary",
    "columns",
    "every",
    "groups",
    "neighbours",
    "raw",
    "read",
    "sample",
    "samples",
    "series",
    "splits",
    "step_states",
    "steps",
    "table",
]
