"""Groups, and discarded samples."""

from msgspec import Struct

from rolloupe.wire.records.numbers import Number


class GroupItem(Struct, kw_only=True):
    """A group of the list. `first` counts the samples of the list before it."""

    group: str
    step: int
    prompt: str
    """Start of the prompt (of its last user turn if a chat template is recognised)."""
    samples: int
    first: int
    reward_mean: Number
    reward_std: Number
    env: str
    discarded: str
    """The most frequent reason why its samples were discarded; empty if none were."""
    prefix: str
    """The common start of its samples' ids; each id ends with a part of `members`."""
    members: list[str]
    """Its samples, ordered by `sort`, at most 1,000."""
    means: list[Number]
    """By column of the reply, over finite values."""
    cells: list[list[Number]]
    """By column of the reply, a value for each of `members`."""


class GroupsReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/groups?split=&step=&trained=&where=&sort=&descending=&column=&offset=&limit=`.

    The scope is one step, a range (`step_min=`, `step_max=`), or without either the whole split. `sort` is `index` or a
    column, which orders groups by its mean and the samples of a group by its value. `column` may appear several times;
    `usual=1` adds the most informative columns after them.
    """

    run: str
    split: str
    version: str
    total: int
    """Number of groups."""
    samples: int
    """Number of samples that match the filter."""
    of: int
    """Number of samples in the scope, whatever the filter."""
    offset: int
    stamp: int
    """The stamp of the step, if the scope is one step: see `StepsReply.stamps`."""
    pending: int
    """As in `SamplesReply`."""
    discarded: int
    """With a filter on trained samples: the discarded ones in scope that match it too."""
    reasons: list[str]
    """As in `SamplesReply`."""
    columns: list[str]
    groups: list[GroupItem]
