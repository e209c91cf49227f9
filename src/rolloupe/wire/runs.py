"""Runs: the list, steps, curves, alarms, and what a run holds beside samples."""

from typing import Any

from msgspec import Struct

from rolloupe.index.run_indexer import IndexProgress
from rolloupe.insight.curves import Alarm, UncheckedRule
from rolloupe.model import Checkpoint, LogNode, RunFile
from rolloupe.query import CurveQuery, MetricValues
from rolloupe.wire.encoding import Number
from rolloupe.wire.samples import TurnView


class SplitItem(Struct, kw_only=True):
    """The indexed part of a split."""

    name: str
    steps: int
    samples: int
    discarded: int | None
    """Number of discarded samples, which rewards leave out. None if annotations decide."""
    first_step: int | None
    last_step: int | None
    reward_min: Number
    """Over the finite rewards, like `reward_max`."""
    reward_max: Number
    last_reward: Number
    """Mean reward of the newest step that has one; if annotations decide, of the last step of the first split."""
    last_response_tokens: Number
    """Mean length of the responses at the newest step that has one."""
    last_response_chars: Number


class MetricRange(Struct, kw_only=True):
    """A sample metric with a declared worst and best value; the worst is the greater one if less is better."""

    name: str
    worst: float
    best: float


class RunItem(Struct, kw_only=True):
    """A run in the list. `version` changes whenever any answer about the run may have changed."""

    id: str
    name: str
    format: str
    reason: str
    path: str
    about: str
    """What a bundled run holds, in a sentence; empty for all others."""
    group: str
    """The heading of a bundled run in the list of runs; empty for all others."""
    splits: list[SplitItem]
    problems: int
    may_report: bool
    has_metrics_alone: bool
    """True if its files are read, and hold no sample but the trainer's metrics."""
    logged_reward: Number
    """The last reward in these metrics, for a run with metrics alone."""
    progress: IndexProgress
    version: str
    live: bool
    """True while the run is known to continue: its files changed within `quiet_s` seconds, or its marker is `open`."""
    has_grown: bool
    """True once this server saw its files change: before that, `changed_s` may be the age of a copy."""
    ending: str
    """The run's own marker: `ended`, or `open` if it has not ended; empty if the format has no marker."""
    changed_s: float | None
    """Seconds since a source last changed, None if unknown."""
    quiet_s: float
    """Quiet seconds that mean the run has ended: three times its longest gap between writes, at least ten minutes."""
    reward_range: tuple[float, float] | None
    """The lowest and the highest possible reward, if a person or the run declares them."""
    metric_ranges: list[MetricRange]


class ConfiguredReply(Struct, kw_only=True):
    """`GET /api/configs/find?word=&word=`: for each word, the ids of the runs whose configuration has it."""

    found: list[list[str]]


class NoteView(Struct, kw_only=True):
    """A path that was not opened, and why."""

    path: str
    reason: str


class RunsReply(Struct, kw_only=True):
    """`GET /api/runs`."""

    runs: list[RunItem]
    notes: list[NoteView]
    searching: bool
    """True until the first search for runs has ended: more may follow, and ids change of runs whose names repeat."""
    program: str
    """Name and version of the server."""
    opens_on: str
    """The run that the start page leads to; empty: the list of runs."""


class StepsReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/steps?split=`: parallel columns, one entry for each step, in ascending order."""

    run: str
    split: str
    version: str
    steps: list[int]
    samples: list[int]
    """Number of trained samples; the mean reward covers them."""
    discarded: list[int]
    reward_mean: list[Number]
    """Mean over finite rewards."""
    reward_std: list[Number]
    reward_excluded: list[int]
    """Number of samples without a finite reward, which the mean leaves out."""
    states: dict[str, str]
    """Unfinished steps, by number: `being written` or `incomplete`."""
    stamps: list[int]
    """A stamp for each step, which changes when its samples do."""


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
    steps: list[int] = []
    values: list[Number] = []
    spread: list[Number] | None = None
    """Standard deviations, if the request asks for them and the curve has them."""
    low: list[Number] | None = None
    """The lower ends of the band of quantiles, if the request asks for one and the curve has it."""
    high: list[Number] | None = None
    smooth: list[Number] | None = None
    points: int = 0
    """The number of points; for a long curve, `steps` holds fewer."""
    left_out: int = 0
    """The number of outliers left out of the range; they are not among the points."""
    reach: list[float] | None = None
    """The least and the greatest x of the range including outliers, if outliers are left out."""
    x: list[float] | None = None
    """The x of each point, if the request names one: it may fall, or be the same for several points."""
    without_x: int = 0
    """The number of points of the range whose step has no finite x; they are left out."""
    x_start_s: float | None = None
    """The start of elapsed time, in seconds since 1970."""
    with_value: list[int] | None = None
    """The number of `samples` with a value at each point; null where every sample has one."""
    samples: list[int] | None = None
    error: str = ""
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
    """Its meaning, in a sentence; empty where only the framework knows it."""
    low: Number
    """The lower bound of the values of its samples; null if unknown."""
    high: Number


class CatalogueReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/catalogue?split=`: the curves that a run has, by section."""

    entries: list[CatalogueEntry]
    left_out: int


class AlarmItem(Alarm, frozen=True, kw_only=True):
    """An alarm of a rule."""

    rule: str
    severity: str
    """`error` or `hint`."""
    words: str
    """When the rule raises an alarm."""


class AlarmsReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/alarms`: what looks wrong in the curves of a run, errors first."""

    rules: int
    alarms: list[AlarmItem]
    left_out: int
    unchecked: list[UncheckedRule]
    """The rules that could not be checked, and why."""


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

    edges: list[float]
    first_steps: list[int]
    last_steps: list[int]
    counts: list[list[int]]
    """By column, then by bin."""


class RunMetricItem(MetricValues, frozen=True, kw_only=True):
    """The values of a metric in a run."""

    run: str


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
    left: int
    """Number of runs without an answer yet: the next request continues with them."""


class ProblemItem(Struct, kw_only=True):
    """A record that could not be read."""

    file: str
    start: int | None
    stop: int | None
    reason: str
    excerpt: str
    """The first bytes of the record, as text."""


class ProblemsReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/problems?offset=&limit=`."""

    total: int
    problems: list[ProblemItem]


class TrackerItem(Struct, kw_only=True):
    """Curves that a tracker keeps of the run."""

    kind: str
    """What wrote them: `TensorBoard`, `trackio`, ..."""
    path: str
    name: str
    """The run's name there; empty without one."""
    metrics: list[str]
    """The first of the metrics that it adds to the trainer's own."""
    metric_count: int
    step_name: str
    """The metric that holds the trainer's step; empty where the tracker counts steps."""
    note: str
    """What was not read, and why."""


class ReportSteps(Struct, kw_only=True):
    """The steps of a split that have a report."""

    split: str
    steps: list[int]


class AboutReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/about`: everything that the run holds except its samples."""

    path: str
    format: str
    reason: str
    config: Any
    """As the trainer wrote it; non-finite numbers encoded as in `number`."""
    checkpoints: list[Checkpoint]
    code_diff: str
    files: list[RunFile]
    files_left: int
    reports: list[ReportSteps]
    trackers: list[TrackerItem]
    superseded: int
    """Samples of steps that a later launch recorded again: no statistic counts them."""


class ReportNode(LogNode, kw_only=True):
    """A piece of a step's logged outline; `GET /api/runs/{run}/report?split=&step=` returns the outermost one."""

    turns: list[TurnView]  # type: ignore[pyrefly:bad-override]
    children: "list[ReportNode]"  # type: ignore[pyrefly:bad-override]
