"""Groups, and what was generated and not trained on."""

from msgspec import Struct

from rolloupe.server.wire.numbers import Number


class GroupItem(Struct, kw_only=True):
    """A group of the list. `first` samples of the list stand before it."""

    group: str
    step: int
    prompt: str
    """Start of the prompt (its last user turn where a chat template is recognised)."""
    samples: int
    first: int
    reward_mean: Number
    reward_std: Number
    env: str
    discarded: str
    """Why samples of it were not trained on, the most frequent reason; empty where all were."""
    prefix: str
    """How the ids of its samples begin; they end with a part of `members`."""
    members: list[str]
    """Its samples in the order that `sort` asks for, at most 1,000 of them."""
    means: list[Number]
    """By column of the reply, over finite values."""
    cells: list[list[Number]]
    """By column of the reply, a value for each of `members`."""


class GroupsReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/groups?split=&step=&trained=&where=&sort=&descending=&column=&offset=&limit=`.

    The scope is one step, a range (`step_min=`, `step_max=`), or without both the whole split. `sort` is `index`, or a
    column: groups are compared by its means, the samples of a group by its values. `column` may stand several times;
    with `usual=1` the most informative ones follow them.
    """

    run: str
    split: str
    version: str
    total: int
    """How many groups there are."""
    samples: int
    """How many samples fulfil the filter."""
    of: int
    """How many samples the scope has, whatever the filter."""
    offset: int
    stamp: int
    """That of the step, where the scope is one: see `StepsReply.stamps`."""
    columns: list[str]
    groups: list[GroupItem]


class DiscardsReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/discards?split=`: parallel columns, one entry for each step and reason, by step.

    `unfinished` of the samples were cancelled or failed: there is no answer to read.
    """

    run: str
    split: str
    version: str
    reasons: list[str]
    steps: list[int]
    samples: list[int]
    groups: list[int]
    unfinished: list[int]
