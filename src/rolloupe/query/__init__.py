"""Queries on a run. Every interface (web, terminal, command line, Python, export) uses these functions alone."""

from rolloupe.formats.reading.files import listing_once
from rolloupe.query.curves.catalogue import CurveEntry, curve_catalogue, curve_name, named_curve
from rolloupe.query.curves.curve import LEAST_POINTS, Range, check_curve, curve, curves
from rolloupe.query.curves.distribution import Distribution, distribution
from rolloupe.query.curves.points import Curve, CurveOptions, CurveQuery
from rolloupe.query.engine.compile import Progress, watched
from rolloupe.query.engine.database import prepare, save_memory
from rolloupe.query.engine.names import has_column, kind_of, prompt_word, qualified, value_of, without_aliases
from rolloupe.query.evals.grader import Judge, evals_bar, judges, wrong_answers
from rolloupe.query.evals.scores import EvalSummary, PromptGrid, answers, evals, grid
from rolloupe.query.filter.parser import Condition, Filter, quoted
from rolloupe.query.prompts import PROMPT_SORTS, Recurrence, count_steps, prompt_hash_of, recurring, shared_prompts
from rolloupe.query.records import (
    Discards,
    GroupSummary,
    SampleItem,
    SamplePage,
    SampleQuery,
    SeriesPoint,
    SplitSummary,
    Stats,
    StepSummary,
    judgements_in,
    sample_key,
)
from rolloupe.query.run.columns import Catalogue, ColumnInfo, catalogue, usual_columns
from rolloupe.query.run.problems import group_doubts, problem_count, problems, reward_doubts, text_rewards
from rolloupe.query.run.trainer_files import (
    CurveSource,
    MetricPoint,
    all_conversations,
    curve_sources,
    files,
    has_metrics,
    logged_reward,
    logtree,
    loss_of,
    may_report,
    metric_arrow,
    metric_names,
    metric_rows,
    metrics,
    trainer_version,
)
from rolloupe.query.run_tokens.statistics import (
    CurvesByPosition,
    MaskedBySteps,
    TokenStatsBySteps,
    masked_shares,
    position_curves,
    token_stats,
)
from rolloupe.query.run_tokens.token_index import MAX_READ, in_known_scope, in_known_series, worst_tokens
from rolloupe.query.run_tokens.words import WordChanges, WordsOfSteps, word_changes, words_of_steps
from rolloupe.query.sample.compare import Compared, GroupAnswer, TextPiece, chars_before, compared
from rolloupe.query.sample.load import (
    LAGS,
    POLICY_VERSIONS,
    locate,
    neighbours,
    policy,
    raw,
    read,
    sample,
    sample_and_group,
)
from rolloupe.query.sample.stream import Reader, whole, with_group_advantages
from rolloupe.query.samples.explain_empty import discarded_too, why_few, why_none
from rolloupe.query.samples.groups import Group, GroupPage, groups, groups_page
from rolloupe.query.samples.pages import (
    by_uid,
    derived_names,
    every,
    in_scope,
    named,
    needs_whole_index,
    samples,
    table,
    with_length,
)
from rolloupe.query.several_runs.configs import (
    ConfigTable,
    config_differences,
    config_table,
    recipes,
    run_groups,
    runs_configured,
)
from rolloupe.query.several_runs.curves import MetricValues, group_curve, metric_values, runs_catalogue
from rolloupe.query.steps.moments import columns, discarded_among, discards, needs_tokens, series
from rolloupe.query.steps.summaries import DatasetSummary, Newest, datasets, newest, splits, steps, value_names
from rolloupe.query.tokens.page import (
    Alternative,
    TokenPage,
    texts_of_response,
    token_alternatives,
    token_page,
    token_table,
    usual_update,
)
from rolloupe.query.tokens.update import (
    GroupedUpdate,
    TokenUpdate,
    UpdateChoice,
    UpdateInputs,
    UpdateMass,
    aggregation_of,
    choice_of,
    grouped_update,
    rule_of,
    token_update,
    update_inputs,
)
