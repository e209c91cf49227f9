"""Runs and their steps."""

from msgspec import Struct

from rolloupe.server.wire.numbers import Number


class SplitItem(Struct, kw_only=True):
    """A split of a run, with what is indexed of it so far."""

    name: str
    steps: int
    samples: int
    discarded: int | None
    """How many of the samples were not trained on: the rewards are of the others. None where annotations decide."""
    first_step: int | None
    last_step: int | None
    reward_min: Number
    """Of the finite rewards, as `reward_max`."""
    reward_max: Number
    last_reward: Number
    """Mean reward of the newest step that has one; where annotations decide, of the last step of the first split."""
    last_response_tokens: Number
    """Mean length of the responses at the newest step that has one."""
    last_response_chars: Number


class ProgressView(Struct, kw_only=True):
    """How far the index of a run has come, in bytes of its sources."""

    done_bytes: int
    total_bytes: int
    phase: str
    """`scalars`, `text` or `ready`."""


class MetricRange(Struct, kw_only=True):
    """A sample metric whose worst and best value the run tells; the worst is the greater where less is better."""

    name: str
    worst: float
    best: float


class RunItem(Struct, kw_only=True):
    """A run in the list. `version` changes whenever anything that a query could answer changed."""

    id: str
    name: str
    format: str
    reason: str
    path: str
    splits: list[SplitItem]
    problems: int
    may_report: bool
    """False where no step of it has a report."""
    progress: ProgressView
    version: str
    live: bool
    """True while it is known to go on: changed within the last `quiet_s` seconds, and seen to, or marked `open`."""
    has_grown: bool
    """True once this server saw its files change: before that, `changed_s` may be the age of a copy."""
    ending: str
    """What the run's own marker says: `ended`, `open` where there is none yet; empty where the format has no marker."""
    changed_s: float | None
    """Seconds since a source last changed, None where unknown."""
    quiet_s: float
    """So many quiet seconds are an end: three times the run's longest gap between writes, ten minutes at least."""
    reward_range: tuple[float, float] | None
    """The lowest and the highest reward there can be, where a person or the run says so."""
    metric_ranges: list[MetricRange]


class ConfigItem(Struct, kw_only=True):
    """What a run has for each key that differs, as text, cut where it is long; None where it has no such key."""

    run: str
    values: list[str | None]


class ConfigsReply(Struct, kw_only=True):
    """`GET /api/configs`: what differs between the configurations of all runs, the most telling keys first."""

    keys: list[str]
    telling: int
    """So many of them, the first, say more of a run than its name does."""
    runs: list[ConfigItem]
    """Those that have a configuration."""
    left: int
    """Runs whose configuration was not looked at, as there are too many."""


class NoteView(Struct, kw_only=True):
    """A path that was looked at and not opened, and why."""

    path: str
    reason: str


class RunsReply(Struct, kw_only=True):
    """`GET /api/runs`."""

    runs: list[RunItem]
    notes: list[NoteView]
    program: str
    """Name and version of the server."""


class CurveReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/curve?split=&name=`: a number of samples by step, over what was trained on.

    Or, with a name `trainer.NAME`, a metric of the trainer's, which is of no split and has no spread. Parallel columns,
    one entry a step that has one, in ascending order of step.
    """

    run: str
    split: str
    name: str
    version: str
    steps: list[int]
    mean: list[Number]
    std: list[Number]


class StepsReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/steps?split=`: parallel columns, one entry a step, in ascending order of step."""

    run: str
    split: str
    version: str
    steps: list[int]
    samples: list[int]
    """How many were trained on; the mean reward is theirs."""
    discarded: list[int]
    """How many were not."""
    reward_mean: list[Number]
    """Mean over finite rewards."""
    reward_std: list[Number]
    reward_excluded: list[int]
    """How many samples had no finite reward and are left out of the mean."""
    states: dict[str, str]
    """Steps that are not finished, by number: `being written` or `incomplete`."""
    stamps: list[int]
    """A number for each step that is another where its samples are others."""
