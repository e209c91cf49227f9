"""What charts draw: curves of several runs at once, the catalogue, alarms, and distributions of samples."""

from msgspec import Struct

from rolloupe.wire.records.numbers import Number


class CurveOptionsView(Struct, kw_only=True, forbid_unknown_fields=True):
    """Options of a curve, each for some kinds."""

    spread: bool = False
    """For a mean: also return the standard deviation of each point."""
    smooth: int = 0
    """Span in steps of a bias-corrected moving average of the values; 0 for none, -1 for the usual one."""
    threshold: float | None = None
    """For an evaluation: the value at which an answer counts as correct; null leaves it to the run."""
    k: int = 1
    """For an evaluation: the k of pass@k and pass^k."""
    reason: str = ""
    """For the share `discarded`: count only this reason."""
    skip_first: bool = False
    """Leave out the first step of the curve."""
    outliers: float = 0.0
    """Leave out values further beyond the quartiles of the range than so many times their distance; 0 keeps all."""
    from_zero: bool = False
    """Subtract the first finite value of the range from all values."""
    last_step: int | None = None
    """Leave out the steps after this one."""
    where: str = ""
    """A filter: only samples that match it count."""
    band: str = ""
    """For a sample metric: also return two quantiles of each step, `p5-p95` or `p25-p75`."""
    x_min: float | None = None
    """Answer only points from this x on, and the one before it."""
    x_max: float | None = None
    """Answer only points up to this x, and the one after it."""


class CurveAxis(Struct, kw_only=True, forbid_unknown_fields=True):
    """The curve whose values stand across a chart; its fields are those of `CurveRecord`."""

    kind: str
    name: str = ""
    source: str = ""
    stat: str = ""


class CurveRecord(Struct, kw_only=True, forbid_unknown_fields=True):
    """One curve. `kind` says what `name` names.

    - `sample`: a numeric column or sample metric; `mean`, `std`, `min`, `max` or `count` over trained samples
    - `token`: a token series; the same statistics over the tokens of a step
    - `trainer`: a metric that the trainer logged; `value`
    - `eval`: the metric that grades an evaluation, empty for the one that the run suggests; `score`, `correct`,
      `pass_at`, `pass_all`, `prompts` or `samples`
    - `share`: `discarded` or a status; `share` of all samples of a step, or their `count`
    - `group`: `all_best`, `all_worst`, `without_spread` or `mixed`; `share` of groups with several rewards, or their
      `count`
    - `outcome`: `length_right` or `length_wrong`, mean response tokens; `right` or `wrong`, numbers of answers; `value`
    - `correlation`: a numeric column or sample metric; Pearson's r of it and the reward, `value`
    - `samples`: no name; `count`
    - `elapsed`: no name; seconds since the first point with a time, `value`
    - `cumulative`: a numeric column or sample metric, summed over all trained samples so far; `value`
    """

    kind: str
    name: str = ""
    source: str = ""
    """The split, `eval` for all evaluations together; empty for the first split. Trainer metrics have none."""
    stat: str = ""
    """Empty for the first statistic of the kind."""
    options: CurveOptionsView | None = None
    x: CurveAxis | None = None
    """What stands across; null for the step."""


class CurvesRequest(Struct, kw_only=True, forbid_unknown_fields=True):
    """`POST /api/curves`: several curves, each for every run."""

    runs: list[str]
    curves: list[CurveRecord]
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
    """A curve that a run has; `kind`, `name`, `source` and `stat` are those of `CurveRecord`."""

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


class AlarmCurve(Struct, kw_only=True):
    """A curve that an alarm is about; its fields are those of `CurveRecord`."""

    kind: str
    name: str
    source: str


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
    curves: list[AlarmCurve]
    """The curves that show it; empty for an alarm about the samples themselves."""
    discarded: bool
    """True if the samples that show it were discarded."""


class UncheckedItem(Struct, kw_only=True):
    """A rule that could not be checked."""

    rule: str
    reason: str


class AlarmsReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/alarms`: what looks wrong in the curves of a run, errors first."""

    run: str
    rules: int
    """How many rules there are."""
    alarms: list[AlarmItem]
    left_out: int
    """Number of further alarms, which are not in the list."""
    unchecked: list[UncheckedItem]
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


class MetricStats(Struct, kw_only=True):
    """Statistics of the finite values of some samples."""

    count: int
    mean: Number
    std: Number
    min: Number
    max: Number


class StepMetric(Struct, kw_only=True):
    """A sample metric at a step; `counts` has the number of samples in each bin, for a metric with a histogram."""

    name: str
    stats: MetricStats
    before: MetricStats | None
    """At the step before; null if that has no value."""
    counts: list[int]


class StepSample(Struct, kw_only=True):
    """A sample of the step, with its values of the requested metrics in their order."""

    id: str
    group: str
    values: list[Number]


class StepValuesReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/step-values?split=&step=&names=&also=`: sample metrics at one step.

    Those of `names` have histograms and a value for each sample; those of `also` follow. All histograms have the same
    bins: bin `i` holds the values from `edges[i]` up to, not including, `edges[i + 1]`.
    """

    run: str
    version: str
    split: str
    step: int
    before: int | None
    """The step before; null for the first one."""
    edges: list[float]
    metrics: list[StepMetric]
    samples: list[StepSample]
    """The first samples that were trained on; those of a group stand together."""
    total: int
    """The number of all samples that were trained on."""


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
    curve: CurveRecord


class RunMetricsReply(Struct, kw_only=True):
    """The metric of each run, as far as there was time: `left` runs wait for the next request."""

    runs: list[RunMetricItem]
    left: int


class RunsCatalogueReply(Struct, kw_only=True):
    """`GET /api/catalogue`: the curves that any run has, as far as there was time for all runs."""

    entries: list[CatalogueEntry]
    runs_with: list[int]
    """The number of runs that have each of `entries`."""
    left: int
    """Number of runs without an answer yet: the next request continues with them."""
