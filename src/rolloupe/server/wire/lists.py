"""Lists of samples: their pages, their columns, and what a filter may say."""

from msgspec import Struct

from rolloupe.server.wire.numbers import Number


class SampleItemView(Struct, kw_only=True):
    """A sample in a list."""

    id: str
    step: int
    group: str
    index: str
    reward: Number
    advantage: Number
    status: str
    turns: int
    response_tokens: Number
    response_chars: int
    preview: str
    """Start of the response."""
    end: str
    """Its end, where that start is not all of it."""
    prompt: str
    discarded: str
    env: str
    values: list[Number]
    """By column of the reply: numbers, or texts as they are."""


class SamplesReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/samples?split=&step=&trained=&where=&group=&sort=&descending=&offset=&limit=`.

    The scope is as in `GroupsReply`. Sorted by `index` the samples of a group stand together, groups in order of their
    first sample. With `around=ID` the page is the one that holds this sample. `column` may stand several times.
    """

    run: str
    split: str
    version: str
    total: int
    """How many samples fulfil the filter."""
    of: int
    """How many the scope has, whatever the filter."""
    offset: int
    stamp: int
    """That of the step: see `StepsReply.stamps`."""
    columns: list[str]
    samples: list[SampleItemView]


class ColumnItem(Struct, kw_only=True):
    """A column of samples; `low` and `high` are of the finite values seen."""

    name: str
    kind: str
    """`number` or `text`."""
    source: str
    """`fixed`, `metric` or `tag`."""
    low: Number
    high: Number
    worst: Number
    """As the run declares it, with `best`; the greater of both where less is better."""
    best: Number


class ColumnsReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/columns?split=`: by what samples can be shown, sorted and filtered."""

    run: str
    split: str
    version: str
    columns: list[ColumnItem]
    series: list[str]
    """The token series that samples of the run have: their means over tokens have curves by step."""
    group_size: int
    """How many samples a group has, at most; 0 where that is not known."""


class SuggestionItem(Struct, kw_only=True):
    """What may stand in a filter. `kind` is `column`, `operator`, `value` or `word`."""

    text: str
    kind: str
    note: str


class CompleteReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/complete?split=&step=&text=`: what may replace the end of `text`, from `start` on."""

    start: int
    found: list[SuggestionItem]
