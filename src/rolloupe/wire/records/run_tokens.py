"""The tokens of a run: a series by step and by position, what rules take out, words, the worst tokens."""

from typing import Literal

from msgspec import Struct

from rolloupe.wire.records.numbers import Number


class TokenCoverageView(Struct, kw_only=True):
    """What an answer about tokens is over."""

    samples: int
    """The samples in question."""
    pending: int
    """How many of them the index has not reached yet: the answer lacks their tokens."""
    unread: int
    """How many have tokens that could not be read."""


class RunSeriesItem(Struct, kw_only=True):
    """A token series that samples of the run have."""

    name: str
    title: str
    about: str
    scale: Literal["linear", "symmetric", "log"]


class TokenSeriesReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/token-series?split=`: the series that the index knows, in the order of the samples."""

    series: list[RunSeriesItem]
    coverage: TokenCoverageView


class TokenStepsReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/token-steps?split=&series=`: a series at each step that has values, over finite values."""

    series: str
    steps: list[int]
    tokens: list[int]
    infinite: list[int]
    """How many tokens have an infinite value."""
    samples: list[int]
    """How many samples have a value."""
    mean: list[Number]
    """Over all tokens."""
    sample_mean: list[Number]
    """The mean of the means of the samples."""
    min: list[Number]
    max: list[Number]
    p10: list[Number]
    """A percentile is at most 0.8 % from the true one."""
    p50: list[Number]
    p90: list[Number]
    coverage: TokenCoverageView


class TokenPositionsReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/token-positions?split=&step=&series=`: the mean of a series by position at one step.

    A position is how many trained tokens of the sample come before. The first 64 have a bucket each; later buckets grow
    with the position.
    """

    series: str
    step: int
    first: list[int]
    """The first position of each bucket."""
    tokens: list[int]
    means: list[Number]
    """Null for a bucket without tokens."""
    coverage: TokenCoverageView


class MaskSteps(Struct, kw_only=True):
    """What a rule takes out, by step, as shares of the trained tokens."""

    rule: str
    """`recorded` for what the trainer recorded."""
    title: str
    thresholds: dict[str, float]
    """Those that the shares hold for; none for `recorded`."""
    is_of_run: bool
    """True if the run was trained with the rule."""
    steps: list[int]
    tokens: list[int]
    masked: list[float]
    high: list[float]
    """Masked because they moved up too far."""
    low: list[float]
    update_lost: list[Number]
    """The share of the update that the rule masks or clips; null if nothing is known to be pushed."""


class TokenMasksReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/token-masks?split=`: each rule that the series suffice for, what was recorded first."""

    rules: list[MaskSteps]
    coverage: TokenCoverageView


class TokenWordItem(Struct, kw_only=True):
    """The trained tokens that are one word."""

    text: str
    """The token string as text; for an id without a tokenizer, the id in digits."""
    token_id: int | None
    """None if the record holds strings."""
    tokens: int
    kl: Number
    """The sum of their KL."""
    mean_kl: Number
    """The mean of their KL; null if none has one."""
    with_kl: int
    """How many of them have a KL."""
    probability: Number
    """The mean of their probabilities at sampling; null if none has one."""
    is_exact: bool
    """False if some of its tokens may be missing."""


class TokenWordsReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/token-words?split=&step=&by=kl|tokens`: words with most KL, or the most frequent."""

    words: list[TokenWordItem]
    kl: str
    """The series that is summed; empty if the samples have no KL."""
    tokens: int
    """How many trained tokens have a word."""
    listed: int
    """How many of them are tokens of words that the index kept."""
    coverage: TokenCoverageView


class WordChangeItem(Struct, kw_only=True):
    """A word at two steps."""

    before: TokenWordItem
    after: TokenWordItem
    change: float


class TokenChangesReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/token-changes?split=&before=&after=&by=probability|share`: words that gain and lose most."""

    tokens: list[int]
    """How many trained tokens either step has."""
    gained: list[WordChangeItem]
    lost: list[WordChangeItem]
    compared: int
    unknown: int
    """How many words are frequent at one of the steps, but too rare for the index at the other."""
    min_tokens: int
    """How often a word must be a token to be compared."""
    coverage: TokenCoverageView


class WorstTokenItem(Struct, kw_only=True):
    """A token with one of the most extreme values of a series."""

    value: Number
    id: str
    """The sample."""
    token: int
    """Its place among all tokens of the sample."""
    text: str | None
    """The token string as text; null if neither the record nor a tokenizer tells."""
    token_id: int | None


class WorstTokensReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/worst-tokens`: the worst tokens of a group, a step or a run, the worst first."""

    series: str
    tokens: list[WorstTokenItem]
    coverage: TokenCoverageView
