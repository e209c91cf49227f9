"""The question and the answers: `SampleQuery`, and the typed results of the query functions."""

from typing import NamedTuple

from msgspec import Struct

from rolloupe.model import SampleKey
from rolloupe.query.filter.nodes import Filter


class SampleQuery(Struct, frozen=True, kw_only=True):
    """Which samples of a run, in which order, how many. URL, CLI and API all parse to this.

    An empty `splits` means every split, and `eval` among them every `eval/...`; steps are inclusive. `sort` is `index`
    or any column or sample metric (`reward`, `advantage`, `response_tokens`, `turns`, ...); missing values come last
    either way. A sample must fulfil every filter in `where`.
    """

    splits: tuple[str, ...] = ()
    step_min: int | None = None
    step_max: int | None = None
    group: str | None = None
    trained: bool | None = None
    """Only samples that were trained on, or only those that were not; None for both."""
    where: tuple[Filter, ...] = ()
    sort: str = "index"
    descending: bool = False
    offset: int = 0
    limit: int | None = None


class Stats(Struct, frozen=True):
    """Of the finite values: how many, mean, population standard deviation, extremes; `excluded` had none."""

    count: int
    mean: float | None
    std: float | None
    min: float | None
    max: float | None
    excluded: int


class SplitSummary(NamedTuple):
    """What is indexed of a split so far. `groups` counts groups per step, summed."""

    name: str
    steps: int
    groups: int
    samples: int
    first_step: int | None
    last_step: int | None
    reward: Stats
    superseded: int = 0
    """Samples of steps that a later launch recorded again; they are in no other number."""
    discarded: int | None = 0
    """How many of the samples were not trained on: `reward` is of the others. None where `quick` cannot tell."""


class StepSummary(NamedTuple):
    """One step of a split."""

    split: str
    step: int
    samples: int
    reward: Stats
    state: str = ""
    """`being written` or `incomplete` where the format can tell; else empty."""
    stamp: int = 0
    """Another number where the samples of the step are others."""
    discarded: int = 0
    """How many of the samples were not trained on: `reward` is of the others."""


class GroupSummary(NamedTuple):
    """One group of a step; `first` is the place of its first sample in the list sorted by `index`."""

    group: str
    prompt: str
    samples: int
    first: int
    reward: Stats
    env: str
    discarded: str = ""
    """Why samples of it were not trained on: the reasons, the most frequent first."""


class Discards(NamedTuple):
    """How many samples of a step were not trained on for one reason.

    `unfinished` of them were cancelled, or failed: there is no answer to read.
    """

    split: str
    step: int
    reason: str
    samples: int
    groups: int
    unfinished: int


class SeriesPoint(NamedTuple):
    """A sample metric or a token series at a step."""

    split: str
    step: int
    stats: Stats


class ExtremeToken(NamedTuple):
    """A token at which a series is extreme: the sample it is of, and its index in the sample's series."""

    key: SampleKey
    token: int
    value: float


class StepSeries(NamedTuple):
    """A token series at a step, over the tokens of all samples; absent values are left out and not counted.

    `lowest` and `highest` are of different samples each, the most extreme first.
    """

    name: str
    stats: Stats
    lowest: list[ExtremeToken]
    highest: list[ExtremeToken]


class SampleItem(NamedTuple):
    """A sample in a list: what the index knows of it."""

    key: SampleKey
    uid: str
    reward: float | None
    advantage: float | None
    status: str
    turns: int
    prompt_tokens: int | None
    response_tokens: int | None
    total_tokens: int | None
    response_chars: int
    env: str
    discarded: str
    prompt: str
    """Start of the prompt."""
    response: str
    """Start of the response."""
    response_end: str
    """Its end, where that start is not all of it."""
    metrics: dict[str, float]
    tags: dict[str, str]


class SamplePage(NamedTuple):
    """A page of a list: `offset` is where it begins among `total`."""

    total: int
    offset: int
    samples: list[SampleItem]
    stamp: int = 0
    """That of `StepSummary`, where the page is of one step."""
