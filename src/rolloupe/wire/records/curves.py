"""What charts draw: curves of several runs at once, the catalogue, alarms, and distributions of samples."""

from msgspec import Struct

from rolloupe.insight.alarm import UncheckedRule
from rolloupe.insight.curves import CurveName
from rolloupe.query import CurveQuery
from rolloupe.wire.records.numbers import Number


class CurvesRequest(Struct, kw_only=True, forbid_unknown_fields=True):
    """`POST /api/curves`: several curves, each for every run."""

    runs: list[str]
    curves: list[CurveQuery]
    points: int = 2000
    """The maximum number of points of one curve. A longer curve keeps its extremes and its gaps."""
    step_min: int | None = None
    step_max: int | None = None
    group_by: str = ""
    """A key of configurations: the mean over the runs that share its value, in the place of each run."""


class CurveGroup(Struct, kw_only=True):
    """Runs that share a value of a key of their configurations; null for runs without the key."""

    value: str | None
    runs: list[str]


class CurveData(Struct, kw_only=True):
    """The points of a curve in ascending order of step; `values`, `spread` and `smooth` are as long as `steps`."""

    run: str
    """Of a group, the first run."""
    curve: int
    """The position of the curve in the request."""
    steps: list[int]
    values: list[Number]
    spread: list[Number] | None
    """Standard deviations, if the request asks for them and the curve has them."""
    low: list[Number] | None
    """The lower ends of the band of quantiles, if the request asks for one and the curve has it."""
    high: list[Number] | None
    smooth: list[Number] | None
    points: int
    """The number of points; for a long curve, `steps` holds fewer."""
    left_out: int
    """The number of outliers left out of the range; they are not among the points."""
    reach: list[float] | None
    """Where outliers are left out: the least and the greatest x of the range with them."""
    x: list[float] | None
    """The x of each point, if the request names one: it may fall, or be the same for several points."""
    without_x: int
    """The number of points of the range left out since their step has no finite x."""
    x_start_s: float | None
    """For elapsed time: when it begins, in seconds since 1970."""
    with_value: list[int] | None
    """The number of samples that each point rests on, of so many `samples`; null where every sample has a value."""
    samples: list[int] | None
    error: str
    """Why this run has no such curve, with the nearest names; empty if it has one."""


class CatalogueEntry(Struct, kw_only=True):
    """A curve that a run has; `kind`, `name`, `source` and `stat` are those of `CurveQuery`."""

    kind: str
    name: str
    source: str
    stat: str
    k: int
    """For pass@k and pass^k of an evaluation; 0 for all others."""
    reason: str
    """For the samples discarded for one reason; empty for all others."""
    title: str
    section: str
    unit: str
    about: str
    """What it is, in a sentence; empty where nobody but the framework knows."""
    low: Number
    """The bounds of the values of its samples; null where they are unknown."""
    high: Number


class CatalogueReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/catalogue?split=`: the curves that a run has, by section."""

    run: str
    entries: list[CatalogueEntry]
    left_out: int
    """Number of entries left out of the list."""


class AlarmItem(Struct, kw_only=True):
    """What a rule found, with the samples that show it: `where`, `sort` and `descending` are those of a list."""

    rule: str
    severity: str
    """`error` or `hint`."""
    title: str
    text: str
    words: str
    """When the rule raises an alarm."""
    split: str
    first_step: int
    last_step: int
    where: str
    sort: str
    descending: bool
    curves: list[CurveName]
    """The curves that show it; empty for an alarm about the samples themselves."""
    discarded: bool
    """True if the samples that show it were discarded."""


class AlarmsReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/alarms`: what looks wrong in the curves of a run, errors first."""

    run: str
    rules: int
    """How many rules there are."""
    alarms: list[AlarmItem]
    left_out: int
    """Number of further alarms, which are not in the list."""
    unchecked: list[UncheckedRule]
    """The rules that the run has too little for."""


class CurvesReply(Struct, kw_only=True):
    """The answer: for each run, in the order of the request, every curve in that order."""

    versions: dict[str, str]
    """By run; it changes whenever any of the run's curves may have changed."""
    curves: list[CurveData]
    groups: list[CurveGroup] | None
    """If runs are grouped: each stands for a run in `curves`. `spread`, `low` and `high` are those of its runs."""


class DistributionReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/distribution?name=&split=&columns=&step_min=&step_max=`.

    Counts of the trained samples with a finite value, by column and bin. Bin `i` holds the values from `edges[i]` up
    to, not including, `edges[i + 1]`; column `i` covers the steps from `first_steps[i]` to `last_steps[i]`.
    """

    run: str
    version: str
    name: str
    split: str
    edges: list[float]
    first_steps: list[int]
    last_steps: list[int]
    counts: list[list[int]]
    """By column, then by bin."""


class RunMetricItem(Struct, kw_only=True):
    """The values of a metric in a run, of the finite ones; null for a run without the metric."""

    run: str
    last: Number
    last_step: int | None
    highest: Number
    highest_step: int | None
    lowest: Number
    lowest_step: int | None
    smooth: Number
    """The moving average at the last value."""


class RunMetricsRequest(Struct, kw_only=True, forbid_unknown_fields=True):
    """`POST /api/run-metrics`: a metric of some runs, or of all without any."""

    runs: list[str]
    curve: CurveQuery


class RunMetricsReply(Struct, kw_only=True):
    """The metric of the runs that were looked at in time; `left` runs wait for the next request."""

    runs: list[RunMetricItem]
    left: int


class RunsCatalogueReply(Struct, kw_only=True):
    """`GET /api/catalogue`: the curves of all runs that were looked at in time."""

    entries: list[CatalogueEntry]
    runs_with: list[int]
    """The number of runs that have each of `entries`."""
    left: int
    """Number of runs without an answer yet: the next request continues with them."""
