"""Questions asked of a run. Every face (web, terminal, command line, Python, export) asks these and no others."""

from rolloupe.query.beside import (
    MetricPoint,
    checkpoints,
    code_diff,
    config,
    conversations,
    files,
    logtree,
    logtrees,
    metric_names,
    metric_rows,
    metrics,
)
from rolloupe.query.discards import discards
from rolloupe.query.extremes import token_series
from rolloupe.query.listing import every, samples, table
from rolloupe.query.problems import problem_count, problems
from rolloupe.query.records import (
    Condition,
    Discards,
    ExtremeToken,
    GroupSummary,
    SampleItem,
    SamplePage,
    SampleQuery,
    SeriesPoint,
    SplitSummary,
    Stats,
    StepSeries,
    StepSummary,
)
from rolloupe.query.single import neighbours, raw, read, sample, sample_and_group
from rolloupe.query.summaries import columns, groups, series, splits, steps, token_series_names
from rolloupe.query.whole import whole

__all__ = [
    "Condition",
    "Discards",
    "ExtremeToken",
    "GroupSummary",
    "MetricPoint",
    "SampleItem",
    "SamplePage",
    "SampleQuery",
    "SeriesPoint",
    "SplitSummary",
    "Stats",
    "StepSeries",
    "StepSummary",
    "checkpoints",
    "code_diff",
    "columns",
    "config",
    "conversations",
    "discards",
    "every",
    "files",
    "groups",
    "logtree",
    "logtrees",
    "metric_names",
    "metric_rows",
    "metrics",
    "neighbours",
    "problem_count",
    "problems",
    "raw",
    "read",
    "sample",
    "sample_and_group",
    "samples",
    "series",
    "splits",
    "steps",
    "table",
    "token_series",
    "token_series_names",
    "whole",
]
