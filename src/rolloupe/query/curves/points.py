"""Curves: queries, answers, and the points of each kind, from samples, trainer metrics, evaluations, shares or tokens.

Quantiles, correlations, outcomes and shares query the samples that match a filter. A cache keeps these answers, so that
a growing run is asked for its new steps alone.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, get_args

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from rolloupe.errors import BadQuery, NotFound
from rolloupe.index import OpenRun
from rolloupe.model import Status
from rolloupe.query.engine.caches import StepAnswers
from rolloupe.query.engine.compile import matching
from rolloupe.query.engine.names import is_asked, unknown
from rolloupe.query.evals.grader import Bar, evals_bar, evaluations, judge_of, value_of
from rolloupe.query.evals.scores import eval_summary
from rolloupe.query.records import SeriesPoint
from rolloupe.query.run.trainer_files import metric_table
from rolloupe.query.run_tokens.statistics import masked_by_rule
from rolloupe.query.steps import moments, summaries
from rolloupe.tokens.series import EQUAL

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

MOMENTS = ("mean", "std", "min", "max", "count")

STATS: dict[str, tuple[str, ...]] = {
    "sample": (*MOMENTS, "p5", "p25", "median", "p75", "p95"),
    "token": MOMENTS,
    "trainer": ("value",),
    "eval": ("score", "correct", "pass_at", "pass_all", "prompts", "samples"),
    "share": ("share", "count"),
    "group": ("share", "count"),
    "mask": ("update_lost", "masked", "high", "low"),
    "outcome": ("value",),
    "correlation": ("value",),
    "samples": ("count",),
    "elapsed": ("value",),
    "cumulative": ("value",),
}
"""The statistics of each kind of curve; the first is the default."""

BANDS = {"p5-p95": ("p5", "p95"), "p25-p75": ("p25", "p75")}
"""The bands of quantiles around a curve: their lower and upper ends."""


class CurveOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options that some curves need beside a name."""

    spread: bool = False
    """For a mean: also return the standard deviation of each point."""
    smooth: int = 0
    """Span, in steps, of a bias-corrected moving average; 0 turns it off. -1 is usual: a tenth of the points, from 5 to
    50, or 0 below 30 points."""
    threshold: float | None = None
    """For an evaluation: the minimum value of a correct answer; None takes the run's own."""
    k: int = 1
    """For an evaluation: the k of pass@k and pass^k."""
    reason: str = ""
    """For the share `discarded`: count this reason only."""
    skip_first: bool = False
    """Leave out the first step of the curve."""
    outliers: float = 0.0
    """Leave out values that lie beyond the quartiles by more than this many times their distance (Tukey's rule, usually
    1.5), except those at the beginning, where a run learns; 0 keeps all."""
    from_zero: bool = False
    """Subtract the first finite value of the curve from all values."""
    last_step: int | None = None
    """Leave out the steps after this one."""
    where: str = ""
    """A filter: only samples that match it count. Curves of tokens and of the trainer have no samples to filter."""
    band: str = ""
    """For a sample metric: also return two quantiles of each step, one of `BANDS`."""
    x_min: float | None = None
    """Return only points from this x on, and the one before it, so that a line enters the range where it does."""
    x_max: float | None = None
    """Return only points up to this x, and the one after it."""


class CurveQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One curve of a run.

    `kind` decides the meaning of `name`:

    - `sample`: a numeric column or sample metric, over the samples that were trained on;
    - `token`: a token series, over the tokens of a step;
    - `trainer`: a metric that the trainer logged;
    - `eval`: the metric that grades an evaluation, or empty for the metric that the run suggests;
    - `share`: `discarded`, or a status such as `truncated`, as a share of all samples of a step; `zero_advantage`, as a
      share of the trained samples with an advantage;
    - `mask`: a rule that masks or clips tokens, such as `ppo`, or `recorded` for the trainer's own flags: the share of
      the update of the recorded tokens that is lost to it, or of these tokens;
    - `group`: `all_best`, `all_worst`, `without_spread` or `mixed`, as a share of the groups with several rewards;
    - `outcome`: `length_right` and `length_wrong`, mean response tokens, or `right` and `wrong`, numbers of answers;
    - `correlation`: a numeric column or sample metric; Pearson's r of it and the reward, over the same samples;
    - `samples`: the number of samples; its name is empty;
    - `elapsed`: seconds since the first point with a time that the trainer logged; its name is empty;
    - `cumulative`: the sum of a numeric column over the trained samples of a step and of all steps before it.
    """

    kind: str
    name: str = ""
    source: str = ""
    """The split, `eval` for all evaluations together; empty for the first split. Trainer metrics have none."""
    stat: str = ""
    """One of `STATS`; empty for the default."""
    options: CurveOptions = CurveOptions()
    x: "CurveQuery | None" = None
    """The curve whose value at a step is the x of the point, without its smoothing and cuts; None: x is the step."""


class Curve(NamedTuple):
    """The points of a curve in ascending order of step. `values`, `spread` and `smooth` are as long as `steps`.

    A step without a value has no point; NaN and the infinities are values that the data holds.
    """

    query: CurveQuery
    steps: Ints
    values: Floats
    spread: Floats | None = None
    """Standard deviations, if the query asks for them and the curve has them."""
    low: Floats | None = None
    """The lower ends of the band of quantiles, if the query asks for one and the curve has it."""
    high: Floats | None = None
    smooth: Floats | None = None
    points: int = 0
    """Number of points; `steps` may hold fewer."""
    left_out: int = 0
    """Number of outliers left out of the whole curve; they are not among the points."""
    reach: tuple[float, float] | None = None
    """If outliers are left out of a whole curve: the least and the greatest x with them."""
    x: Floats | None = None
    """The x of each point, if the query asks for another than the step. It may fall, or be the same for several."""
    without_x: int = 0
    """Number of points in the range that are left out because their step has no finite x."""
    x_start_s: float | None = None
    """For elapsed time: when it begins, in seconds since 1970."""
    with_value: Ints | None = None
    """For a sample metric or token series: how many of the `samples` of each point have a value; None if all have one,
    or if nobody counted them."""
    samples: Ints | None = None
    """The number of trained samples of each step, where `with_value` is not None."""


WHOLE = {
    "trainer": "the trainer logs its metrics for whole steps",
    "token": "statistics of tokens are of whole steps",
    "mask": "masks of tokens are known of whole steps",
    "elapsed": "times are of whole steps",
}
"""The kinds of curves that take no filter, and why."""

QUANTILES = {"p5": 0.05, "p25": 0.25, "median": 0.5, "p75": 0.75, "p95": 0.95}
"""The shares of samples that have at most this value. Between two samples the quantile is interpolated linearly."""

OUTCOMES = ("length_right", "length_wrong", "right", "wrong")
"""Mean response tokens of right and wrong answers, and their numbers."""

DISCARDED = "discarded"
STATUSES: tuple[str, ...] = get_args(Status)
ZERO_ADVANTAGE = "zero_advantage"
ENDED = {
    "environment": "a failure of the environment", "grader": "a failure of the grader", "timeout": "a time-out",
}  # fmt: skip
"""What ended samples, by its word in the column `cause`. The others are statuses, too."""
SHARES = (DISCARDED, *STATUSES, *ENDED, ZERO_ADVANTAGE)

_DECLARED = "reward that the run declares (for its environment), else"
_SAME = "groups in which all samples, discarded ones too, have the same reward, within a millionth"
GROUP_SHARES = {
    "all_best": (
        "All right",
        f"groups in which every sample, discarded ones too, has the highest {_DECLARED} 1 or more",
    ),
    "all_worst": (
        "All wrong",
        f"groups in which every sample, discarded ones too, has the lowest {_DECLARED} 0 or less",
    ),
    "without_spread": ("Without spread", _SAME),
    "mixed": ("Mixed", "groups whose samples, discarded ones too, have different rewards"),
}
"""The title and the meaning of each share of groups with several samples. Discarded samples count, too: a trainer
compares them all."""


_quantiles, _correlations, _advantages, _outcomes, _words, _groups = (StepAnswers() for _ in range(6))


def points_of(run: OpenRun, query: CurveQuery) -> Curve:
    """Return all points of a curve, ascending by step, and nothing else of it. Raises as `curve` does."""
    kind, where = query.kind, query.options.where.strip()
    if where and kind in WHOLE:
        raise BadQuery(f"{WHOLE[kind]}: no filter of samples applies to them")
    source = query.source or ("" if kind == "eval" else summaries.first_split(run))
    options = replace(query.options, where=where)
    query = replace(query, source=source, stat=query.stat or STATS[kind][0], options=options)
    points = _POINTS[kind](run, query)
    return points if isinstance(points, Curve) else Curve(query, *_columns(sorted(points.items())))


def _of_samples(run: OpenRun, query: CurveQuery) -> Curve:
    name, source, where = query.name, query.source, query.options.where
    band = BANDS.get(query.options.band)
    by_step = quantiles(run, name, source, where) if band or query.stat in QUANTILES else {}
    stats = moments.matching_points(run, name, source, where)
    if query.stat in QUANTILES:
        points = Curve(query, *_columns((step, values[query.stat]) for step, values in by_step.items()))
    else:
        points = _of_stats(query, stats)
    points = _counted(points, stats)
    if band is None:
        return points
    low, high = (
        _floats(by_step[step][end] if step in by_step else None for step in points.steps.tolist()) for end in band
    )
    return points._replace(low=low, high=high)


def _of_tokens(run: OpenRun, query: CurveQuery) -> Curve:
    points = _of_stats(query, moments.token_points(run, query.name, query.source))
    if moments.sample_number(run.snapshot(), query.name) is None:
        return points
    # only a sample metric of its name, the mean of each sample, tells the number of samples with a series
    return _counted(points, moments.sample_points(run, query.name, query.source))


def _counted(points: Curve, series: Sequence[SeriesPoint]) -> Curve:
    """Add the number of samples behind each point, unless every sample of each step has a value."""
    stats_by_step = {point.step: point.stats for point in series}
    stats = [stats_by_step[step] for step in points.steps.tolist() if step in stats_by_step]
    if len(stats) < len(points.steps) or not any(stat.excluded for stat in stats):
        return points
    counts = np.array([(stat.count, stat.count + stat.excluded) for stat in stats], dtype=np.int64)
    return points._replace(with_value=counts[:, 0], samples=counts[:, 1])


def _of_stats(query: CurveQuery, series: Sequence[SeriesPoint]) -> Curve:
    points = [point for point in series if point.stats.count]
    steps, values = _columns((point.step, getattr(point.stats, query.stat)) for point in points)
    has_spread = query.options.spread and query.stat == "mean"
    return Curve(query, steps, values, _floats(point.stats.std for point in points) if has_spread else None)


def _of_trainer(run: OpenRun, query: CurveQuery) -> Curve:
    table = metric_table(run)
    if query.kind == "elapsed":
        if table.start_s is None:
            raise BadQuery("the trainer logged no times")
        return Curve(query, table.times[0], table.times[1] - table.start_s)
    if query.name not in table.columns:
        raise unknown("trainer metric", query.name, sorted(table.columns))
    return Curve(query, *table.columns[query.name])


def _of_cumulative(run: OpenRun, query: CurveQuery) -> Curve:
    points = moments.matching_points(run, query.name, query.source, query.options.where)
    stats = [(point.step, point.stats) for point in points]
    steps, sums = _columns((step, stat.mean * stat.count) for step, stat in stats if stat.mean is not None)
    with np.errstate(over="ignore"):
        return Curve(query, steps, np.cumsum(sums))


def _eval_scores(run: OpenRun, query: CurveQuery) -> Mapping[int, float | None]:
    names, options = evaluations(run), query.options
    split = query.source or (names[0] if names else "")
    if split not in names:
        raise NotFound(f"no evaluation {split!r}; there are: {', '.join(names[:40]) or 'none'}")
    summary = eval_summary(run, split, query.name, options.threshold, (options.k,), options.where)
    values = ((step.step, getattr(step, query.stat)) for step in summary.steps)
    return {step: value[0] if isinstance(value, list) else value for step, value in values}


def _shares(run: OpenRun, query: CurveQuery) -> Mapping[int, float]:
    name, source, options = query.name, query.source, query.options
    if query.kind == "share":
        counts = share_counts(run, name, source, options.reason, options.where)
    elif name in GROUP_SHARES:
        groups = group_counts(run, source, options.where)
        counts = {step: (chosen[name], chosen["groups"]) for step, chosen in groups.items()}
    else:
        raise unknown("share of groups", name, GROUP_SHARES)
    return {step: chosen / (whole if query.stat == "share" else 1) for step, (chosen, whole) in counts.items()}


def _columns(points: Iterable[tuple[int, float | None]]) -> tuple[Ints, Floats]:
    pairs = [(step, value) for step, value in points if value is not None]
    return np.array([step for step, _ in pairs], dtype=np.int64), _floats(value for _, value in pairs)


def _floats(values: Iterable[float | None]) -> Floats:
    return np.array([math.nan if value is None else value for value in values], dtype=np.float64)


_POINTS: dict[str, Callable[[OpenRun, CurveQuery], Curve | Mapping[int, float | None]]] = {
    "sample": _of_samples,
    "token": _of_tokens,
    "trainer": _of_trainer,
    "elapsed": _of_trainer,
    "cumulative": _of_cumulative,
    "eval": _eval_scores,
    "share": _shares,
    "group": _shares,
    "mask": lambda run, query: {
        step: getattr(shares, query.stat)
        for step, shares in masked_by_rule(run, query.source).get(query.name, {}).items()
    },
    "outcome": lambda run, query: outcomes(run, query.source, query.name, query.options.where),
    "correlation": lambda run, query: correlations(run, query.name, query.source, query.options.where),
    "samples": lambda run, query: sample_counts(run, query.source, query.options.where),
}
"""Functions by kind of curve; each returns the points of a curve, or its number at each step."""


def _of_trained(
    cache: StepAnswers, run: OpenRun, name: str, split: str, where: str, columns: str, beside: Sequence[str] = ()
) -> Mapping[int, Any]:
    """Return columns by step, over the trained samples with finite values: `{}` in them is the value of the name."""
    snapshot = run.snapshot()
    value, rows = moments.trained_column(run, snapshot, name, where, beside)
    is_finite = " AND ".join(f"isfinite({number})" for number in (value, *beside))
    sql = rows.by_step(columns.format(value), f"{is_finite} AND discarded = ''")
    return cache.get(run, snapshot, split, rows, sql)


def quantiles(run: OpenRun, name: str, split: str, where: str = "") -> dict[int, Mapping[str, float]]:
    """Return `QUANTILES` of the finite values of the trained samples by step. Raises `BadQuery` for other names."""
    columns = f"quantile_cont({{}}, [{', '.join(map(repr, QUANTILES.values()))}])"
    by_step = _of_trained(_quantiles, run, name, split, where, columns)
    return {step: dict(zip(QUANTILES, values, strict=True)) for step, values in by_step.items()}


def correlations(run: OpenRun, name: str, split: str, where: str = "") -> dict[int, float]:
    """Return Pearson's r of the reward and a number, over the trained samples of each step that have both."""
    by_step = _of_trained(_correlations, run, name, split, where, "corr(reward, {})", ["reward"])
    return {step: r for step, r in by_step.items() if r is not None and r == r}


def outcomes(run: OpenRun, split: str, name: str, where: str = "") -> dict[int, float]:
    """Return one of `OUTCOMES` by step. Raises `BadQuery` for another name."""
    if name not in OUTCOMES:
        raise unknown("outcome", name, OUTCOMES)
    snapshot = run.snapshot()
    judge = judge_of(run, split)
    metric, value = value_of(snapshot, judge.metric)
    rows, right = matching(snapshot, where, [metric]), judge.bar.sql(value)
    columns = ", ".join(
        f"{number} FILTER ({is_there})"
        for number in ("avg(response_tokens)", "count(*)")
        for is_there in (right, f"NOT {right}")
    )
    by_step = _outcomes.get(run, snapshot, split, rows, rows.by_step(columns, f"isfinite({value}::DOUBLE)"))
    values = ((step, outcome[OUTCOMES.index(name)]) for step, outcome in by_step.items())
    return {step: value for step, value in values if value is not None}


def share_counts(run: OpenRun, name: str, split: str, reason: str = "", where: str = "") -> dict[int, tuple[int, int]]:
    """Return for each step how many samples are in one of `SHARES`, and the total: all samples, or those with an
    advantage. `reason` narrows the discarded samples. An advantage counts as zero within the tolerance for equal
    rewards, from which it comes.
    """
    if name not in SHARES:
        raise unknown("share", name, SHARES)
    if name == ZERO_ADVANTAGE:
        columns = f"count(*) FILTER (abs({{}}) <= {EQUAL}), count(*)"
        by_step = _of_trained(_advantages, run, "advantage", split, where, columns)
        return {step: (zero, samples) for step, (zero, samples) in by_step.items()}
    counts: Counter[int] = Counter()
    if name == DISCARDED and not where:
        if reason:
            counts.update(
                {discard.step: discard.samples for discard in moments.discards(run, split) if discard.reason == reason}
            )
        else:
            for (of, step), samples in moments.discarded_by_step(run).items():
                counts[step] += samples if is_asked(of, split) else 0
    else:
        column = "cause" if name in ENDED else "status"
        column, wanted = ("discarded", reason) if name == DISCARDED else (column, name)
        for step, words in _counts_by_word(run, column, split, where).items():
            counts[step] = words.get(wanted, 0) if wanted else sum(count for word, count in words.items() if word)
    wholes = sample_counts(run, split, where)
    return {step: (counts[step], whole) for step, whole in wholes.items() if whole}


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
    snapshot = run.snapshot()
    rows = matching(snapshot, where, [column])
    return _words.get(run, snapshot, split, rows, rows.by_step(f"histogram({column})"))


def group_counts(run: OpenRun, split: str, where: str = "") -> dict[int, dict[str, int]]:
    """Count the `groups` of each step that have several rewards, and how many of them are in each of `GROUP_SHARES`."""
    snapshot = run.snapshot()
    rows = matching(snapshot, where, ["reward"])
    low, _ = run.info.reading.reward_range or run.info.reward_range or (0.0, 1.0)
    by_env = () if run.info.reading.reward_range else tuple((env, low) for env, low, _ in run.info.env_reward_ranges)
    best, worst = evals_bar(run, "reward", None).sql("low"), Bar(low, by_env, falls=True).sql("high")
    is_equal = f"high - low <= {EQUAL} * greatest(abs(low), abs(high))"
    sql = f"""
    {rows.own} SELECT step, count(*), count(*) FILTER ({best}), count(*) FILTER ({worst}),
           count(*) FILTER ({is_equal}), count(*) FILTER (NOT ({is_equal}))
    FROM (
        SELECT split, step, grp, any_value(env) AS env, min(reward) AS low, max(reward) AS high FROM {rows.table}
        WHERE isfinite(reward) AND split IN (SELECT unnest(?)) GROUP BY split, step, grp HAVING count(*) > 1
    ) GROUP BY step"""
    by_step = _groups.get(run, snapshot, split, rows, sql)
    return {step: dict(zip(("groups", *GROUP_SHARES), counts, strict=True)) for step, counts in by_step.items()}
