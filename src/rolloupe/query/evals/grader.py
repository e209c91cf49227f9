"""The metric and the threshold that make an answer correct, and the number of correct answers by prompt and step.

The default is the reward, unless the run has a metric for correctness: its name means correctness, and either the run
declares its range or it holds nothing but 0 and 1. A correct answer may miss the best reward, which pays for more than
correctness. A threshold that no answer reaches distinguishes nothing. If the run does not declare such a threshold,
comparisons of prompts and steps, and nothing else, use the mean of all values instead. If the run declares it, the
reason says that no answer reaches it.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rolloupe.errors import BadQuery, NotFound
from rolloupe.index import OpenRun, Snapshot, StepStats, metric_column
from rolloupe.index.segments.step_stats import Moments
from rolloupe.model import CHARTED
from rolloupe.query.engine import caches, database, relation
from rolloupe.query.engine.compile import matching
from rolloupe.query.engine.names import qualified
from rolloupe.query.filter.parser import quoted
from rolloupe.query.steps.summaries import first_split

CORRECTNESS = (
    "correct", "correctness", "acc", "accuracy", "solved", "success", "pass", "passed", "tests_passed", "resolved",
    "exact_match", "em",
)  # fmt: skip
"""Names that mean correctness. Longer names that contain them mean something else, as `format_correct` does."""
AROUND = re.compile(r"^((rewards?|metrics?)[./_])+|[./_](rewards?|score)(_fn|_func)?$")
"""What stands around the names of metrics and of parts of a reward."""

LIKELY = ("equation", "correct", "solved", "success", "acc", "score", "reward", "pass")
TOLERANCE = 1e-9  # sums of rewards miss the best one by rounding errors; so do the sums of a step's statistics
NOTHING = Moments()
UNDECLARED = ("no range is declared", "no range of rewards is declared")  # the reasons for a threshold of 1
KEPT_BYTES = 128 * 2**20
REFERENCE = "ref_reward"  # the sample metric that holds the reward of the reference model's answer to the same prompt


class Bar(NamedTuple):
    """The value that an answer must reach: `by_env` if environments declare other ranges. `falls` if less is better."""

    value: float
    by_env: tuple[tuple[str, float], ...] = ()
    falls: bool = False
    reason: str = ""

    def sql(self, value: str) -> str:
        """A condition on a column."""
        cases = "".join(f" WHEN {relation.literal(env)} THEN {float(threshold)!r}" for env, threshold in self.by_env)
        bar = f"CASE env{cases} ELSE {self.value!r} END" if cases else repr(self.value)
        slack = f"{TOLERANCE!r} * greatest(1.0, abs({bar}))"
        return f"({value} <= ({bar}) + {slack})" if self.falls else f"({value} >= ({bar}) - {slack})"


class Judge(NamedTuple):
    """The metric and the threshold that grade the answers of a split; `bar.reason` justifies the choice."""

    split: str
    metric: str
    bar: Bar
    metrics: list[str]  # other possible metrics, the likeliest first


def judges(run: OpenRun) -> list[Judge]:
    """Return the default grading of each evaluation. Reads no sample."""
    return [telling_judge(run, split) for split in evaluations(run)]


def evaluations(run: OpenRun) -> list[str]:
    """The splits that are evaluations."""
    return sorted({split for split, _ in run.snapshot().steps if split != "train"})


def judge_of(run: OpenRun, split: str, metric: str = "", threshold: float | None = None) -> Judge:
    """Return the grading of a split: by the given metric and threshold, if the split has such a metric."""
    step_stats = _step_stats(run, split)
    names = list(dict.fromkeys(name for stats in step_stats for name in stats.metrics))
    declared = {name for name, _, _ in run.info.metric_ranges}
    words = [*LIKELY, ""]  # every name contains the last
    likely = [name for name in names if name in declared] or names
    likely = sorted(likely, key=lambda name: next(n for n, word in enumerate(words) if word in name.lower()))
    has_reward = any("reward" in stats.columns for stats in step_stats)
    usual = [*(["reward"] if has_reward or not names else []), *likely, *names]
    correctness, why = _of_answers(run, step_stats, names)
    choices = list(dict.fromkeys([correctness, *usual] if correctness else usual))
    chosen = metric if metric in choices else choices[0]
    bar = evals_bar(run, chosen, threshold if chosen == metric or not metric else None)
    is_explicit = bool(metric) and chosen == metric
    if chosen == correctness and not is_explicit and threshold is None:
        bar = bar._replace(reason=why)
    return Judge(split, chosen, bar, choices)


def telling_judge(run: OpenRun, split: str, metric: str = "", threshold: float | None = None) -> Judge:
    """Return the grading for comparisons of prompts and steps: `judge_of`, unless no answer reaches its bar."""
    judge = judge_of(run, split, metric, threshold)
    bar, seen = judge.bar, NOTHING
    for stats in _step_stats(run, split):
        seen = seen.merge(stats.columns.get(judge.metric) or stats.metrics.get(judge.metric, NOTHING))
    best, slack = seen.min if bar.falls else seen.max, TOLERANCE * max(1.0, abs(bar.value))
    is_reached = best <= bar.value + slack if bar.falls else best >= bar.value - slack
    if is_reached or not seen.count or bar.by_env or judge.metric in run.snapshot().annotated():
        return judge
    if bar.reason in UNDECLARED and seen.min < seen.max:
        reason = f"no answer reaches {bar.value:g}, so the bar is the mean of all values"
        return judge._replace(bar=bar._replace(value=seen.mean, reason=reason))
    return judge._replace(bar=bar._replace(reason=f"{bar.reason}; no answer reaches it: the best is {best:g}"))


def wrong_answers(run: OpenRun, split: str) -> str:
    """Return the filter of the wrong answers of a split, by its own grading; of the first split if it is empty."""
    judge = judge_of(run, split or first_split(run))
    name = quoted(judge.metric if judge.metric in CHARTED else qualified(judge.metric, "metric"))
    sign = ">" if judge.bar.falls else "<"
    by_env = [f"(env = {quoted(env)} and {name} {sign} {value:g})" for env, value in judge.bar.by_env]
    others = [f"not env in ({', '.join(quoted(env) for env, _ in judge.bar.by_env)})"] if by_env else []
    rest = " and ".join([*others, f"{name} {sign} {judge.bar.value:g}"])
    return " or ".join([*by_env, f"({rest})"]) if by_env else rest


def evals_bar(run: OpenRun, metric: str, threshold: float | None) -> Bar:
    """Return the bar of a correct answer: the given threshold, else the best value that the run declares, else 1."""
    worst, best = next(((low, high) for name, low, high in run.info.metric_ranges if name == metric), (0.0, 1.0))
    falls = worst > best
    if threshold is not None:
        return Bar(threshold, falls=falls, reason="as requested")
    if metric != "reward":
        declared = any(name == metric for name, _, _ in run.info.metric_ranges)
        return Bar(best, falls=falls, reason="the best value that the run declares" if declared else UNDECLARED[0])
    if run.info.reading.reward_range:
        return Bar(run.info.reading.reward_range[1], reason="the highest reward, as named when the run was opened")
    by_env = tuple((env, high) for env, _, high in run.info.env_reward_ranges)
    if by_env:
        highest = run.info.reward_range[1] if run.info.reward_range else 1.0
        return Bar(highest, by_env, reason="the highest reward that the run declares for each environment")
    if run.info.reward_range:
        return Bar(run.info.reward_range[1], reason="the highest reward that the run declares")
    return Bar(1.0, reason=UNDECLARED[1])


def _step_stats(run: OpenRun, split: str) -> list[StepStats]:
    return [stats for (name, _), stats in run.snapshot().steps.items() if name == split]


def _of_answers(run: OpenRun, step_stats: Sequence[StepStats], names: Sequence[str]) -> tuple[str, str]:
    """Return a metric for correctness that all samples with a reward have, and why it is chosen; empty for none."""
    declared = {name for name, _, _ in run.info.metric_ranges}
    annotated = run.snapshot().annotated()  # the sums per step do not include annotations
    candidates = [name for name in names if bare(name) in CORRECTNESS]
    for name in sorted(candidates, key=lambda name: CORRECTNESS.index(bare(name))):
        pairs = [(stats.metrics.get(name, NOTHING), stats.columns.get("reward", NOTHING)) for stats in step_stats]
        if any(metric.count < reward.count for metric, reward in pairs) or not any(metric.count for metric, _ in pairs):
            continue
        if name in declared:
            return name, "its name means correctness, and the run declares its range"
        if name not in annotated and all(_is_yes_or_no(metric) for metric, _ in pairs):
            return name, "its name means correctness, and it holds nothing but 0 and 1"
    return "", ""


def bare(name: str) -> str:
    """Return a name without the prefixes of metrics, of parts of a reward and of yes-or-no questions."""
    return AROUND.sub("", name.lower()).removeprefix("is_")


def _is_yes_or_no(moments: Moments) -> bool:
    """True if all values are 0 or 1: among numbers from 0 to 1, only these equal their squares."""
    if not moments.count:
        return True
    is_within = moments.min >= 0 and moments.max <= 1
    return is_within and abs(moments.mean - moments.std**2 - moments.mean**2) <= TOLERANCE


class Cells(NamedTuple):
    """The cells of a split, by prompt and step: `prompt` and `step` are places in `names` and `steps`.

    Prompts are in the order of their first appearance. An answer without a finite value cannot be graded: `without`
    counts such answers, `n` does not.
    """

    names: NDArray[np.int64]
    steps: NDArray[np.int64]
    prompt: NDArray[np.int32]
    step: NDArray[np.int32]
    n: NDArray[np.int64]
    c: NDArray[np.int64]
    total: NDArray[np.float64]  # the sum of the values
    compared: NDArray[np.int64]  # samples with a finite reward and a finite reward of the reference, whatever the value
    beat: NDArray[np.int64]  # how many of these have the higher reward: each is compared with its own reference
    without: NDArray[np.int64]


_cells: caches.AnswerCache[Cells] = caches.AnswerCache(KEPT_BYTES, caches.bytes_of)


def value_of(snapshot: Snapshot, metric: str) -> tuple[str, str]:
    """A metric by the name that people use, and in SQL. Raises `BadQuery`."""
    if metric in CHARTED:
        return metric, relation.quote(metric)
    if metric not in snapshot.metrics:
        raise BadQuery(f"no sample metric {metric!r}; there are: {', '.join([*CHARTED, *snapshot.metrics][:40])}")
    return qualified(metric, "metric"), relation.quote(metric_column(metric))


def cells_of(run: OpenRun, judge: Judge, where: str = "") -> Cells:
    """Return the cells of a split, of the samples that match a filter. Raises `NotFound` and `BadQuery`."""
    snapshot = run.snapshot()
    names = sorted({split for split, _ in snapshot.steps})
    if judge.split not in names:
        raise NotFound(f"no split {judge.split!r} in run {run.id!r}; its splits: {', '.join(names) or 'none yet'}")
    key = (judge.split, judge.metric, judge.bar._replace(reason=""), where)
    return _cells.get(run, snapshot, key, lambda: _counted(run, snapshot, judge, where))


def _counted(run: OpenRun, snapshot: Snapshot, judge: Judge, where: str) -> Cells:
    name, value = value_of(snapshot, judge.metric)
    reference = relation.quote(metric_column(REFERENCE)) if REFERENCE in snapshot.metrics else "NULL::DOUBLE"
    is_compared = f"isfinite(reward) AND isfinite({reference})"
    rows = matching(snapshot, where, [name, "reward", REFERENCE])
    sql = f"""
    {rows.own} SELECT prompt_hash, step, count({value}) FILTER (isfinite({value}::DOUBLE)),
           count(*) FILTER (isfinite({value}::DOUBLE) AND {judge.bar.sql(value)}),
           coalesce(sum({value}::DOUBLE) FILTER (isfinite({value}::DOUBLE)), 0),
           count(*) FILTER ({is_compared}), count(*) FILTER ({is_compared} AND reward > {reference}),
           count(*) FILTER ({value} IS NULL OR NOT isfinite({value}::DOUBLE)), min(ordinal)
    FROM {rows.table} WHERE split = ? GROUP BY prompt_hash, step"""
    table = database.table(run, rows.question(snapshot.holding([judge.split]), sql, [judge.split]))
    hashes, steps, n, c, total, compared, beat, without, ordinal = (
        column.combine_chunks().fill_null(fill).to_numpy(zero_copy_only=False)
        for column, fill in zip(table.columns, (0, 0, 0, 0, 0.0, 0, 0, 0, 0), strict=True)
    )
    order = np.lexsort((hashes, ordinal, steps))
    names, first = np.unique(hashes[order], return_index=True)
    rank = np.empty(len(names), np.int32)
    by_first = np.argsort(first, kind="stable")
    rank[by_first] = np.arange(len(names), dtype=np.int32)
    step_numbers, step = np.unique(steps, return_inverse=True)
    prompt = rank[np.searchsorted(names, hashes)]
    place = np.lexsort((step, prompt))
    n, c, compared, beat, without = (counts.astype(np.int64)[place] for counts in (n, c, compared, beat, without))
    at = step.astype(np.int32)[place]
    return Cells(names[by_first], step_numbers, prompt[place], at, n, c, total[place], compared, beat, without)
