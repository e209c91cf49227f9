"""Numbers of curves that need a look at the samples, by step: quantiles, correlations, outcomes and shares.

Each is over the samples that match a filter; a cache keeps the answers, and of a growing run only new steps are asked.
"""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple, get_args

from rolloupe.index import OpenRun
from rolloupe.model import RunInfo, Status
from rolloupe.query.engine.caches import StepAnswers
from rolloupe.query.engine.compile import matching
from rolloupe.query.engine.names import is_asked, unknown
from rolloupe.query.evals.grader import Bar, evals_bar, judge_of, value_of
from rolloupe.query.steps.discards import discarded_by_step, discards
from rolloupe.query.steps.moments import trained_column
from rolloupe.tokens.series import EQUAL

QUANTILES = {"p5": 0.05, "p25": 0.25, "median": 0.5, "p75": 0.75, "p95": 0.95}
"""The shares of samples that have at most this value. Between two samples the quantile is interpolated linearly."""

OUTCOMES = ("length_right", "length_wrong", "right", "wrong")
"""Mean response tokens of right and wrong answers, and their numbers."""

DISCARDED = "discarded"
STATUSES: tuple[str, ...] = get_args(Status)
ZERO_ADVANTAGE = "zero_advantage"
SHARES = (DISCARDED, *STATUSES, ZERO_ADVANTAGE)


class GroupShare(NamedTuple):
    """The words for a share of groups."""

    title: str
    about: str


GROUP_SHARES = {
    "all_best": GroupShare(
        "All right",
        "groups in which every sample, discarded ones too, has the highest reward that the run declares (for its "
        "environment), else 1 or more",
    ),
    "all_worst": GroupShare(
        "All wrong",
        "groups in which every sample, discarded ones too, has the lowest reward that the run declares (for its "
        "environment), else 0 or less",
    ),
    "without_spread": GroupShare(
        "Without spread", "groups in which all samples, discarded ones too, have the same reward, within a millionth"
    ),
    "mixed": GroupShare("Mixed", "groups whose samples, discarded ones too, have different rewards"),
}
"""All samples count, whether they were trained on or not, for a trainer compares all.

Highest and lowest are those that the run declares, of the environment where it says so, else 1 and 0. A group of one
sample is in none of them."""


class Outcome(NamedTuple):
    """Right and wrong answers of a step."""

    right: int
    wrong: int
    length_right: float | None
    length_wrong: float | None


class AdvantageCounts(NamedTuple):
    """The trained samples of a step with an advantage: all, and those with zero, from which nothing is learned."""

    zero: int
    samples: int


class GroupCounts(NamedTuple):
    """The groups of a step with several rewards, and how many of them are in each share."""

    groups: int
    all_best: int
    all_worst: int
    without_spread: int

    @property
    def mixed(self) -> int:
        """Groups with different rewards."""
        return self.groups - self.without_spread


_quantiles = StepAnswers[list[float]](lambda values: values)
_correlations = StepAnswers[float | None](lambda r: r)
_outcomes = StepAnswers[Outcome](Outcome)
_words = StepAnswers[Mapping[str, int]](lambda counts: counts)
_advantages = StepAnswers[AdvantageCounts](AdvantageCounts)
_groups = StepAnswers[GroupCounts](GroupCounts)


def quantiles(run: OpenRun, name: str, split: str, where: str = "") -> dict[int, Mapping[str, float]]:
    """Return `QUANTILES` of the finite values of the trained samples by step. Raises `BadQuery` for other names."""
    snapshot = run.snapshot()
    value, rows = trained_column(run, snapshot, name, where)
    sql = f"""
    {rows.own} SELECT step, quantile_cont({value}, [{", ".join(map(repr, QUANTILES.values()))}]) FROM {rows.table}
    WHERE split IN (SELECT unnest(?)) AND isfinite({value}) AND discarded = '' GROUP BY step"""
    by_step = _quantiles.get(run, snapshot, split, (name, where), rows, sql)
    return {step: dict(zip(QUANTILES, values, strict=True)) for step, values in by_step.items()}


def correlations(run: OpenRun, name: str, split: str, where: str = "") -> dict[int, float]:
    """Return Pearson's r of the reward and a number, over the trained samples of each step.

    Samples count that have a finite value of both. A step has no value where one of the two is the same in all
    samples. Raises `BadQuery` for an unknown name.
    """
    snapshot = run.snapshot()
    value, rows = trained_column(run, snapshot, name, where, beside=["reward"])
    sql = f"""
    {rows.own} SELECT step, corr(reward, {value}) FROM {rows.table}
    WHERE split IN (SELECT unnest(?)) AND isfinite({value}) AND isfinite(reward) AND discarded = '' GROUP BY step"""
    by_step = _correlations.get(run, snapshot, split, (name, where), rows, sql)
    return {step: r for step, r in by_step.items() if r is not None and r == r}


def outcomes(run: OpenRun, split: str, name: str, where: str = "") -> dict[int, float]:
    """Return one of `OUTCOMES` by step. Raises `BadQuery` for another name."""
    if name not in OUTCOMES:
        raise unknown("outcome", name, OUTCOMES)
    snapshot = run.snapshot()
    judge = judge_of(run, split)
    metric, value = value_of(snapshot, judge.metric)
    rows, right = matching(snapshot, where, [metric]), judge.bar.sql(value)
    sql = f"""
    {rows.own} SELECT step, count(*) FILTER ({right}), count(*) FILTER (NOT {right}),
           avg(response_tokens) FILTER ({right}), avg(response_tokens) FILTER (NOT {right})
    FROM {rows.table} WHERE split IN (SELECT unnest(?)) AND isfinite({value}::DOUBLE) GROUP BY step"""
    by_step = _outcomes.get(run, snapshot, split, (sql, where), rows, sql)
    values = ((step, getattr(outcome, name)) for step, outcome in by_step.items())
    return {step: value for step, value in values if value is not None}


def share_counts(run: OpenRun, name: str, split: str, reason: str = "", where: str = "") -> Mapping[int, int]:
    """Return how many samples of each step are in one of `SHARES`: of the discarded ones, for one reason if given.

    Raises `BadQuery` for another name.
    """
    if name not in SHARES:
        raise unknown("share", name, SHARES)
    if name == ZERO_ADVANTAGE:
        return {step: counts.zero for step, counts in _advantage_counts(run, split, where).items()}
    if name != DISCARDED:
        by_word = _counts_by_word(run, "status", split, where)
        return {step: counts[name] for step, counts in by_word.items() if name in counts}
    if where:
        by_word = _counts_by_word(run, "discarded", split, where)
        return {
            step: counts.get(reason, 0) if reason else sum(count for word, count in counts.items() if word)
            for step, counts in by_word.items()
        }
    if reason:
        return {discard.step: discard.samples for discard in discards(run, split) if discard.reason == reason}
    by_step: Counter[int] = Counter()
    for (of, step), samples in discarded_by_step(run).items():
        if is_asked(of, split):
            by_step[step] += samples
    return by_step


def share_wholes(run: OpenRun, name: str, split: str, where: str = "") -> dict[int, int]:
    """Return the number of samples of each step that a share is of: all, or those with an advantage."""
    if name == ZERO_ADVANTAGE:
        return {step: counts.samples for step, counts in _advantage_counts(run, split, where).items()}
    return sample_counts(run, split, where)


def sample_counts(run: OpenRun, split: str, where: str = "") -> dict[int, int]:
    """Return the number of samples of each step."""
    total: Counter[int] = Counter()
    for (of, step), stats in run.snapshot().steps.items():
        if stats.rows and is_asked(of, split):
            total[step] += stats.rows
    if not where:
        return dict(total)
    by_word = _counts_by_word(run, "status", split, where)
    return {step: sum(by_word.get(step, {}).values()) for step in total}


def _counts_by_word(run: OpenRun, column: str, split: str, where: str) -> Mapping[int, Mapping[str, int]]:
    """Count the samples of each step by a column of words."""
    snapshot = run.snapshot()
    rows = matching(snapshot, where, [column])
    sql = f"""
    {rows.own} SELECT step, map_from_entries(list((word, counted))) FROM (
        SELECT step, {column} AS word, count(*) AS counted FROM {rows.table}
        WHERE split IN (SELECT unnest(?)) GROUP BY step, word
    ) GROUP BY step"""
    return _words.get(run, snapshot, split, (column, where), rows, sql)


def _advantage_counts(run: OpenRun, split: str, where: str) -> Mapping[int, AdvantageCounts]:
    """Count advantages by step. Zero is judged as equal rewards are, from which such advantages come."""
    snapshot = run.snapshot()
    value, rows = trained_column(run, snapshot, "advantage", where)
    sql = f"""
    {rows.own} SELECT step, count(*) FILTER (abs({value}) <= {EQUAL}), count(*) FROM {rows.table}
    WHERE split IN (SELECT unnest(?)) AND isfinite({value}) AND discarded = '' GROUP BY step"""
    return _advantages.get(run, snapshot, split, where, rows, sql)


def group_counts(run: OpenRun, split: str, where: str = "") -> Mapping[int, GroupCounts]:
    """Count the groups of each step that have several rewards: see `GROUP_SHARES`."""
    snapshot = run.snapshot()
    rows = matching(snapshot, where, ["reward"])
    best, worst = evals_bar(run, "reward", None).sql("low"), _worst(run.info).sql("high")
    sql = f"""
    {rows.own} SELECT step, count(*), sum({best}::INTEGER), sum({worst}::INTEGER),
           sum((high - low <= {EQUAL} * greatest(abs(low), abs(high)))::INTEGER)
    FROM (
        SELECT split, step, grp, any_value(env) AS env, min(reward) AS low, max(reward) AS high FROM {rows.table}
        WHERE isfinite(reward) AND split IN (SELECT unnest(?)) GROUP BY split, step, grp HAVING count(*) > 1
    ) GROUP BY step"""
    return _groups.get(run, snapshot, split, (sql, where), rows, sql)


def _worst(info: RunInfo) -> Bar:
    """The lowest reward. Samples at or below this value are complete failures."""
    low, _ = info.reading.reward_range or info.reward_range or (0.0, 1.0)
    by_env = () if info.reading.reward_range else tuple((env, least) for env, least, _ in info.env_reward_ranges)
    return Bar(low, by_env, falls=True)
