"""Questions asked of a run. Every face (web, terminal, command line, Python, export) asks these and no others."""

from rolloupe.query.engine.names import has_column, value_of, without_aliases
from rolloupe.query.evals.grader import Judge, judges
from rolloupe.query.evals.grader import bar_of as evals_bar
from rolloupe.query.evals.scores import Answer, EvalStep, EvalSummary, Grid, answers, evals, grid
from rolloupe.query.filter.completion import Completion, Suggestion, complete
from rolloupe.query.filter.nodes import Among, And, Condition, Filter, Missing, Not, Or
from rolloupe.query.records import (
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
from rolloupe.query.run.columns import Catalogue, ColumnInfo, catalogue
from rolloupe.query.run.config_differences import ConfigDifferences, config_differences
from rolloupe.query.run.problems import problem_count, problems
from rolloupe.query.run.trainer_files import (
    MetricPoint,
    all_conversations,
    checkpoints,
    code_diff,
    config,
    conversations,
    files,
    logtree,
    logtrees,
    may_report,
    metric_names,
    metric_rows,
    metrics,
    report_files,
)
from rolloupe.query.sample.compare import Compared, GroupAnswer, Spot, TextPiece, chars_before, compared
from rolloupe.query.sample.load import locate, neighbours, raw, read, sample, sample_and_group
from rolloupe.query.sample.same_prompt import Recurrence, problem_of, recurring
from rolloupe.query.sample.stream import Reader, whole
from rolloupe.query.samples.groups import Group, GroupPage, groups_page
from rolloupe.query.samples.lookup import by_uid, named, responses
from rolloupe.query.samples.pages import every, in_scope, samples, table
from rolloupe.query.samples.usual_columns import usual_columns
from rolloupe.query.steps.discards import discards
from rolloupe.query.steps.latest import Newest, newest
from rolloupe.query.steps.summaries import columns, groups, series, splits, steps, token_series_names, value_names
from rolloupe.query.tokens.extremes import token_series

__all__ = [
    "Among",
    "And",
    "Answer",
    "Catalogue",
    "ColumnInfo",
    "Compared",
    "Completion",
    "Condition",
    "ConfigDifferences",
    "Discards",
    "EvalStep",
    "EvalSummary",
    "ExtremeToken",
    "Filter",
    "Grid",
    "Group",
    "GroupAnswer",
    "GroupPage",
    "GroupSummary",
    "Judge",
    "MetricPoint",
    "Missing",
    "Newest",
    "Not",
    "Or",
    "Reader",
    "Recurrence",
    "SampleItem",
    "SamplePage",
    "SampleQuery",
    "SeriesPoint",
    "SplitSummary",
    "Spot",
    "Stats",
    "StepSeries",
    "StepSummary",
    "Suggestion",
    "TextPiece",
    "all_conversations",
    "answers",
    "by_uid",
    "catalogue",
    "chars_before",
    "checkpoints",
    "code_diff",
    "columns",
    "compared",
    "complete",
    "config",
    "config_differences",
    "conversations",
    "discards",
    "evals",
    "evals_bar",
    "every",
    "files",
    "grid",
    "groups",
    "groups_page",
    "has_column",
    "in_scope",
    "judges",
    "locate",
    "logtree",
    "logtrees",
    "may_report",
    "metric_names",
    "metric_rows",
    "metrics",
    "named",
    "neighbours",
    "newest",
    "problem_count",
    "problem_of",
    "problems",
    "raw",
    "read",
    "recurring",
    "report_files",
    "responses",
    "sample",
    "sample_and_group",
    "samples",
    "series",
    "splits",
    "steps",
    "table",
    "token_series",
    "token_series_names",
    "usual_columns",
    "value_names",
    "value_of",
    "whole",
    "without_aliases",
]
