"""Queries and answers: `SampleQuery`, and the typed results of the query functions."""

from collections.abc import Iterable
from typing import NamedTuple

from msgspec import Struct

from rolloupe.errors import NotFound
from rolloupe.model import JUDGEMENT, OWN_JUDGEMENT, Real, SampleKey
from rolloupe.query.filter.parser import Filter, leaves
from rolloupe.questions import INT64, Query


class SampleQuery(Struct, frozen=True, kw_only=True):
    """Which samples of a run, in which order, how many. URL, CLI and API all parse to this.

    An empty `splits` means every split, and `eval` in it every `eval/...`; steps are inclusive. `sort` is `index` or
    any column or sample metric (`reward`, `advantage`, `response_tokens`, `turns`, ...); missing values come last
    either way. A sample must fulfil every filter in `where`.
    """

    splits: tuple[str, ...] = ()
    step_min: int | None = None
    step_max: int | None = None
    group: str | None = None
    trained: bool | None = None
    """True: only trained samples; False: only discarded ones; None: both."""
    where: tuple[Filter, ...] = ()
    typed: str = ""
    """The text of `where` as typed, if any: errors name places in it."""
    sort: str = "index"
    descending: bool = False
    offset: int = 0
    limit: int | None = None


def judgements_in(query: SampleQuery, columns: Iterable[str] = ()) -> set[str]:
    """Return the names of a person's judgements among the columns that a query, or a list, names."""
    named = (getattr(leaf, "column", "") for leaf in leaves(query.where))
    return {name.removeprefix("tag.") for name in (*named, query.sort, *columns)} & {JUDGEMENT, OWN_JUDGEMENT}


def scope_of(asked: Query) -> SampleQuery:
    """Return the samples that a question is about: those of its split, its steps and its group, if it has these."""
    split, step = getattr(asked, "split", ""), getattr(asked, "step", None)
    return SampleQuery(
        splits=(split,) if split else (),
        step_min=getattr(asked, "step_min", None) if step is None else step,
        step_max=getattr(asked, "step_max", None) if step is None else step,
        group=getattr(asked, "group", None),
    )


def sample_key(text: str) -> SampleKey:
    """Return the key of a sample, from its id. Raises `NotFound` for a malformed id."""
    try:
        key = SampleKey.parse(text)
    except ValueError:
        key = None
    if key is None or not -INT64 <= key.step < INT64 or key.attempt < 0:
        raise NotFound(f"{text[:200]!r} is not the id of a sample: an id is split/step/group/index")
    return key


class Stats(Struct, frozen=True):
    """Statistics of the finite values: count, mean, population standard deviation, extremes; `excluded` had none."""

    count: int
    mean: Real | None
    std: Real | None
    min: Real | None
    max: Real | None
    excluded: int


class SplitSummary(NamedTuple):
    """The indexed part of a split. `groups` sums the groups of all steps."""

    name: str
    steps: int
    groups: int
    samples: int
    first_step: int | None
    last_step: int | None
    reward: Stats
    superseded: int = 0
    """Samples of steps that a later launch recorded again; no other number counts them."""
    discarded: int | None = 0
    """Number of discarded samples: `reward` covers the others. None if a `quick` answer cannot know."""


class StepSummary(NamedTuple):
    """One step of a split."""

    split: str
    step: int
    samples: int
    reward: Stats
    state: str = ""
    """`being written` or `incomplete` if the format can tell; else empty."""
    stamp: int = 0
    """Changes whenever the samples of the step change."""
    discarded: int = 0
    """Number of discarded samples: `reward` covers the others."""


class GroupSummary(NamedTuple):
    """One group of a step; `first` is the place of its first sample in the list sorted by `index`."""

    group: str
    prompt: str
    samples: int
    first: int
    reward: Stats
    env: str
    discarded: str = ""
    """Why its samples were discarded: the reasons, the most frequent first."""


class Discards(NamedTuple):
    """The number of samples of a step discarded for one reason.

    `unfinished` of them were cancelled, or failed, and have no answer to read. `at_zero` have a reward of 0, and
    `above_zero` a larger one.
    """

    split: str
    step: int
    reason: str
    samples: int
    groups: int
    unfinished: int
    at_zero: int = 0
    above_zero: int = 0


class SeriesPoint(NamedTuple):
    """A sample metric or a token series at a step."""

    split: str
    step: int
    stats: Stats


class NonFinite(float):
    """NaN or an infinity. JSON lacks it: msgspec calls the hook of its encoder for it, as it is not a plain float."""


class LargeInteger(int):
    """An integer beyond 2**53. A browser would round it: msgspec calls the hook of its encoder for it, too."""


class SampleItem(Struct, frozen=True, omit_defaults=True):
    """A sample in a list: the facts in the index. Its JSON is what the page gets, so that large dicts are optional."""

    id: str
    split: str
    step: int
    group: str
    index: str
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
    """The end of the response, if the start above is not all of it."""
    values: list[float | int | str | None]
    """The values of the requested columns, in their order."""
    metrics: dict[str, float] = {}
    """All sample metrics, unless columns were requested."""
    tags: dict[str, str] = {}
    """All tags, unless columns were requested."""
    derived: dict[str, float | str] = {}
    """Derived metrics in the query, by their names without `derived.`, unless columns were requested."""
    attempt: int = 0
    """As in `SampleKey`."""
    columns: dict[str, float | int | str] = {}
    """Columns of all samples that have no field here, unless columns were requested."""

    @property
    def key(self) -> SampleKey:
        """The key of the sample."""
        return SampleKey(self.split, self.step, self.group, self.index, self.attempt)


class SamplePage(NamedTuple):
    """A page of a list: `offset` is its start among `total`."""

    total: int
    offset: int
    samples: list[SampleItem]
    stamp: int = 0
    """The stamp of `StepSummary`, if the page is of one step."""
    pending: int = 0
    """Samples still without a value of a derived metric in the query: they count as missing."""
