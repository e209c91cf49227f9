"""Lists of samples: pages, columns, and completions of a filter."""

from msgspec import Struct

from rolloupe.query import SampleItem


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
