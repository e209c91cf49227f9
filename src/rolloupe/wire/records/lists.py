"""Lists of samples: pages, columns, and completions of a filter."""

from msgspec import Struct

from rolloupe.query import SampleItem
from rolloupe.wire.records.numbers import Number


class SamplesReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/samples?split=&step=&trained=&where=&group=&sort=&descending=&offset=&limit=`.

    The scope is as in `GroupsReply`. Sorted by `index`, the samples of a group are adjacent, and groups follow the
    order of their first sample. With `around=ID`, the page is the one with this sample. `column` may appear several
    times.
    """

    run: str
    split: str
    version: str
    total: int
    """Number of samples that match the filter."""
    of: int
    """Number of samples in the scope, whatever the filter."""
    offset: int
    stamp: int
    """The stamp of the step: see `StepsReply.stamps`."""
    pending: int
    """Samples in scope still without a derived metric of the filter or order: its value counts as missing."""
    discarded: int
    """With a filter on trained samples: the discarded ones in scope that match it too."""
    reasons: list[str]
    """What the samples in scope lack of what the filter names: if none matches, or if it names what only some have."""
    columns: list[str]
    """The requested columns, whose values each sample has."""
    samples: list[SampleItem]


class ListProgress(Struct, kw_only=True):
    """`GET /api/runs/{run}/samples/progress?...`, and `groups/progress`: how far an answer is that someone waits for.

    The rest of the address is that of the list. All are 0 before the first look, and once the list is there.
    """

    done: int
    """The number of samples looked at."""
    of: int
    """The number to look at."""
    found: int
    """The number of samples, or groups, that match among them."""


class ColumnItem(Struct, kw_only=True):
    """A column of samples; `low` and `high` bound the finite values seen."""

    name: str
    kind: str
    """`number` or `text`."""
    source: str
    """`fixed`, `metric`, `tag` or `derived`."""
    label: str
    """A readable label; empty if the name says as much."""
    unit: str
    is_empty: bool
    """No sample has a number; False as long as annotations or the index may bring one."""
    low: Number
    high: Number
    worst: Number
    """The worst value that the run declares, with `best`; it is the greater one if less is better."""
    best: Number


class ColumnsReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/columns?split=`: the columns to show, sort and filter samples by."""

    run: str
    split: str
    version: str
    columns: list[ColumnItem]
    series: list[str]
    """The token series of the run's samples: their means over tokens have curves by step."""
    group_size: int
    """The maximum number of samples in a group; 0 if unknown."""


class SuggestionItem(Struct, kw_only=True):
    """A completion of a filter. `kind` is `column`, `operator`, `value` or `word`."""

    text: str
    kind: str
    note: str


class CompleteReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/complete?split=&step=&text=`: completions of the end of `text`, from `start` on."""

    start: int
    found: list[SuggestionItem]
