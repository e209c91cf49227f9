"""Queries on a run. Every interface (web, terminal, command line, Python, export) uses these functions alone."""

from rolloupe.formats.reading.files import listing_once
from rolloupe.query.curves.catalogue import CurveEntry, curve_catalogue, curve_name, named_curve
from rolloupe.query.curves.curve import check_curve, curve, curves
from rolloupe.query.curves.decimation import LEAST_POINTS
from rolloupe.query.curves.records import Curve, CurveOptions, CurveQuery
from rolloupe.query.distribution.at_step import MetricAtStep, StepValues, step_values
from rolloupe.query.distribution.over_steps import Distribution, distribution
from rolloupe.query.engine.database import prepare, save_memory
from rolloupe.query.engine.names import has_column, is_derived, is_metric, value_of, without_aliases
from rolloupe.query.engine.parts import Progress, watched
from rolloupe.query.evals.grader import Judge, judges, wrong_answers
from rolloupe.query.evals.grader import bar_of as evals_bar
from rolloupe.query.evals.scores import Answer, EvalStep, EvalSummary, Grid, answers, evals, grid
from rolloupe.query.filter.completion import Completion, Suggestion, complete
from rolloupe.query.filter.nodes import Among, And, Condition, Filter, HasToken, Missing, Not, Or
from rolloupe.query.filter.parser import quoted
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
from rolloupe.query.run.group_doubts import group_doubts
from rolloupe.query.run.landmarks import Landmarks, Resumed, Saved, landmarks
from rolloupe.query.run.problems import problem_count, problems
from rolloupe.query.run.reward_doubts import reward_doubts, text_rewards
from rolloupe.query.run.tracker_curves import CurveSource
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
    loss_of,
    may_report,
    metric_names,
    metrics,
    report_files,
)
from rolloupe.query.run.trainer_metrics import curve_sources, has_metrics, metric_arrow, metric_rows, trainer_version
from rolloupe.query.run_features.feature_index import (
    LEAST_GROUPS,
    FeaturePieces,
    FeatureSums,
    FeatureWindow,
    Hashes,
    WindowFacts,
    feature_pieces,
    feature_sums,
)
from rolloupe.query.run_features.sample_words import (
    SampleWords,
    annotated_advantages,
    ids_of,
    response_of,
    sample_metric,
    sample_rewards,
    sample_words,
)
from rolloupe.query.run_tokens.masks import MaskedBySteps, MaskedShares, masked_shares
from rolloupe.query.run_tokens.positions import CurvesByPosition, PositionCurve, position_curves
from rolloupe.query.run_tokens.statistics import KnownSeries, TokenStats, TokenStatsBySteps, known_series, token_stats
from rolloupe.query.run_tokens.token_index import MAX_READ, TokenCoverage, in_known_scope, in_known_series
from rolloupe.query.run_tokens.words import (
    MIN_TOKENS,
    StepWords,
    TokenWord,
    WordChange,
    WordChanges,
    WordsBySteps,
    WordsOfSteps,
    step_words,
    word_changes,
    words_of_steps,
)
from rolloupe.query.run_tokens.worst import WorstToken, WorstTokens, worst_tokens, worst_tokens_of
from rolloupe.query.sample.batches import TextedSample, groups_with_texts
from rolloupe.query.sample.compare import Compared, GroupAnswer, Spot, TextPiece, chars_before, compared
from rolloupe.query.sample.load import locate, neighbours, raw, read, sample, sample_and_group
from rolloupe.query.sample.of_arrays import whole_samples
from rolloupe.query.sample.policy_version import LAGS, POLICY_VERSIONS, policy
from rolloupe.query.sample.same_prompt import Recurrence, prompt_hash_of, recurring
from rolloupe.query.sample.stream import Reader, whole
from rolloupe.query.samples.arrays import GROUP, IDENTITY, TEXT, SampleArrays, sample_arrays
from rolloupe.query.samples.datasets import DatasetSummary, datasets
from rolloupe.query.samples.groups import Group, GroupPage, groups_page
from rolloupe.query.samples.length import with_length
from rolloupe.query.samples.lookup import by_uid, named, responses
from rolloupe.query.samples.no_match import discarded_too, why_few, why_none
from rolloupe.query.samples.pages import derived_names, every, in_scope, needs_whole_index, samples, table
from rolloupe.query.samples.usual_columns import usual_columns
from rolloupe.query.several_runs.config_table import ConfigRow, ConfigTable, config_table
from rolloupe.query.several_runs.metric_values import MetricValues, RunsCatalogue, metric_values, runs_catalogue
from rolloupe.query.several_runs.run_groups import GroupCurve, RunGroup, group_curve, run_groups
from rolloupe.query.several_runs.shared_prompts import (
    PROMPT_SORTS,
    PromptInRuns,
    PromptSample,
    SharedPrompts,
    prompt_samples,
    shared_prompts,
)
from rolloupe.query.steps.discards import discarded_among, discards
from rolloupe.query.steps.latest import Newest, newest
from rolloupe.query.steps.summaries import columns, groups, splits, steps, token_series_names, value_names
from rolloupe.query.steps.token_points import needs_tokens, series
from rolloupe.query.tokens.alternatives import Alternative, token_alternatives
from rolloupe.query.tokens.extremes import token_series
from rolloupe.query.tokens.group_advantages import with_group_advantages
from rolloupe.query.tokens.page import TokenPage, token_page
from rolloupe.query.tokens.rules import usual_update
from rolloupe.query.tokens.spans import TokenSpans
from rolloupe.query.tokens.table import token_table
from rolloupe.query.tokens.token_strings import each_readable, texts_of_response
from rolloupe.query.tokens.update import (
    GroupedUpdate,
    Push,
    PushShares,
    TokenUpdate,
    UpdateChoice,
    UpdateInputs,
    aggregation_of,
    choice_of,
    grouped_update,
    rule_of,
    token_update,
    update_inputs,
)

__all__ = [
    "GROUP",
    "IDENTITY",
    "LAGS",
    "LEAST_GROUPS",
    "LEAST_POINTS",
    "MAX_READ",
    "MIN_TOKENS",
    "POLICY_VERSIONS",
    "PROMPT_SORTS",
    "TEXT",
    "Alternative",
    "Among",
    "And",
    "Answer",
    "Catalogue",
    "ColumnInfo",
    "Compared",
    "Completion",
    "Condition",
    "ConfigDifferences",
    "ConfigRow",
    "ConfigTable",
    "Curve",
    "CurveEntry",
    "CurveOptions",
    "CurveQuery",
    "CurveSource",
    "CurvesByPosition",
    "DatasetSummary",
    "Discards",
    "Distribution",
    "EvalStep",
    "EvalSummary",
    "ExtremeToken",
    "FeaturePieces",
    "FeatureSums",
    "FeatureWindow",
    "Filter",
    "Grid",
    "Group",
    "GroupAnswer",
    "GroupCurve",
    "GroupPage",
    "GroupSummary",
    "GroupedUpdate",
    "HasToken",
    "Hashes",
    "Judge",
    "KnownSeries",
    "Landmarks",
    "MaskedBySteps",
    "MaskedShares",
    "MetricAtStep",
    "MetricPoint",
    "MetricValues",
    "Missing",
    "Newest",
    "Not",
    "Or",
    "PositionCurve",
    "Progress",
    "PromptInRuns",
    "PromptSample",
    "Push",
    "PushShares",
    "Reader",
    "Recurrence",
    "Resumed",
    "RunGroup",
    "RunsCatalogue",
    "SampleArrays",
    "SampleItem",
    "SamplePage",
    "SampleQuery",
    "SampleWords",
    "Saved",
    "SeriesPoint",
    "SharedPrompts",
    "SplitSummary",
    "Spot",
    "Stats",
    "StepSeries",
    "StepSummary",
    "StepValues",
    "StepWords",
    "Suggestion",
    "TextPiece",
    "TextedSample",
    "TokenCoverage",
    "TokenPage",
    "TokenSpans",
    "TokenStats",
    "TokenStatsBySteps",
    "TokenUpdate",
    "TokenWord",
    "UpdateChoice",
    "UpdateInputs",
    "WindowFacts",
    "WordChange",
    "WordChanges",
    "WordsBySteps",
    "WordsOfSteps",
    "WorstToken",
    "WorstTokens",
    "aggregation_of",
    "all_conversations",
    "annotated_advantages",
    "answers",
    "by_uid",
    "catalogue",
    "chars_before",
    "check_curve",
    "checkpoints",
    "choice_of",
    "code_diff",
    "columns",
    "compared",
    "complete",
    "config",
    "config_differences",
    "config_table",
    "conversations",
    "curve",
    "curve_catalogue",
    "curve_name",
    "curve_sources",
    "curves",
    "datasets",
    "derived_names",
    "discarded_among",
    "discarded_too",
    "discards",
    "distribution",
    "each_readable",
    "evals",
    "evals_bar",
    "every",
    "feature_pieces",
    "feature_sums",
    "files",
    "grid",
    "group_curve",
    "group_doubts",
    "grouped_update",
    "groups",
    "groups_page",
    "groups_with_texts",
    "has_column",
    "has_metrics",
    "ids_of",
    "in_known_scope",
    "in_known_series",
    "in_scope",
    "is_derived",
    "is_metric",
    "judges",
    "known_series",
    "landmarks",
    "listing_once",
    "locate",
    "logtree",
    "logtrees",
    "loss_of",
    "masked_shares",
    "may_report",
    "metric_arrow",
    "metric_names",
    "metric_rows",
    "metric_values",
    "metrics",
    "named",
    "named_curve",
    "needs_tokens",
    "needs_whole_index",
    "neighbours",
    "newest",
    "policy",
    "position_curves",
    "prepare",
    "problem_count",
    "problems",
    "prompt_hash_of",
    "prompt_samples",
    "quoted",
    "raw",
    "read",
    "recurring",
    "report_files",
    "response_of",
    "responses",
    "reward_doubts",
    "rule_of",
    "run_groups",
    "runs_catalogue",
    "sample",
    "sample_and_group",
    "sample_arrays",
    "sample_metric",
    "sample_rewards",
    "sample_words",
    "samples",
    "save_memory",
    "series",
    "shared_prompts",
    "splits",
    "step_values",
    "step_words",
    "steps",
    "table",
    "text_rewards",
    "texts_of_response",
    "token_alternatives",
    "token_page",
    "token_series",
    "token_series_names",
    "token_stats",
    "token_table",
    "token_update",
    "trainer_version",
    "update_inputs",
    "usual_columns",
    "usual_update",
    "value_names",
    "value_of",
    "watched",
    "whole",
    "whole_samples",
    "why_few",
    "why_none",
    "with_group_advantages",
    "with_length",
    "without_aliases",
    "word_changes",
    "words_of_steps",
    "worst_tokens",
    "worst_tokens_of",
    "wrong_answers",
]
