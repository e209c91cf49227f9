"""Runs and their steps."""

from msgspec import Struct

from rolloupe.index.run_indexer import IndexProgress
from rolloupe.wire.records.numbers import Number


class SplitItem(Struct, kw_only=True):
    """The indexed part of a split."""

    name: str
    steps: int
    samples: int
    discarded: int | None
    """Number of discarded samples: rewards cover the others. None if annotations decide."""
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
    splits: list[SplitItem]
    problems: int
    may_report: bool
    """False if no step has a report."""
    has_metrics_alone: bool
    """True if its files are read, and hold no sample but the trainer's metrics."""
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


class ConfigItem(Struct, kw_only=True):
    """A run's value of each differing key, as text, cut if long; None for a missing key."""

    run: str
    values: list[str | None]


class ConfigsReply(Struct, kw_only=True):
    """`GET /api/configs`: the differences between the configurations of all runs, most informative keys first."""

    keys: list[str]
    telling: int
    """How many of the first keys describe a run better than its name does."""
    runs: list[ConfigItem]
    """The runs that have a configuration."""
    left: int
    """Number of runs left out because there are too many."""


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


class StepsReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/steps?split=`: parallel columns, one entry for each step, in ascending order."""

    run: str
    split: str
    version: str
    steps: list[int]
    samples: list[int]
    """Number of trained samples; the mean reward covers them."""
    discarded: list[int]
    """Number of discarded samples."""
    reward_mean: list[Number]
    """Mean over finite rewards."""
    reward_std: list[Number]
    reward_excluded: list[int]
    """Number of samples without a finite reward, which the mean leaves out."""
    states: dict[str, str]
    """Unfinished steps, by number: `being written` or `incomplete`."""
    stamps: list[int]
    """A stamp for each step, which changes when its samples do."""
