"""The header of `GET /api/runs/{run}/sample/tokens`; the arrays follow it in binary. See docs/tokens-wire.md."""

from typing import Literal

from msgspec import Struct

from rolloupe.model import Aggregation
from rolloupe.query import Alternative
from rolloupe.tokens.masks import Limit
from rolloupe.wire.records.numbers import Number


class TokenArray(Struct, kw_only=True):
    """An array of the answer: `length` elements from byte `offset` on, counted from the end of the header.

    `kind` is `series`, `ids`, `span` (`turn`, `part`, `start`, `stop`), `text` (`bytes`, `ends`) or `update`
    (`coefficients`, `effects`).
    """

    kind: str
    name: str
    dtype: str
    """`f8`, `f4` (series and coefficients in a report), `i4`, `u4` or `u1`, little-endian."""
    offset: int
    """A multiple of 8."""
    length: int
    title: str = ""
    """What people call the series; this field and those below belong to series alone."""
    about: str = ""
    """The definition of the series."""
    origin: Literal["recorded", "derived", "difference"] = "recorded"
    """`difference`: a recorded series minus the same series, computed."""
    scale: Literal["linear", "symmetric", "log"] = "linear"
    """How to colour the series unless the reader chooses; `symmetric` has two hues around 0."""


class MaskRuleInfo(Struct, kw_only=True):
    """A rule that takes tokens out of the loss: those beyond one of its limits."""

    name: str
    title: str
    series: str
    """The series that the rule compares."""
    limits: list[Limit]
    is_of_run: bool
    """True if the run was trained with it."""


class UpdateRuleInfo(Struct, kw_only=True):
    """A rule that says what a step of training does to each token."""

    name: str
    title: str
    about: str
    thresholds: dict[str, float]
    """By name: the run's, else the usual ones."""
    kl_weight: float
    """The weight of the KL penalty in the run's loss, whichever rule this is, else 0. It needs `ref_logprobs`."""
    kl_setting: str
    """The setting of the run that says so."""
    left_out: dict[str, float]
    """By setting, the weights of penalties in the run's loss that the coefficients leave out."""
    aggregation: Aggregation | None
    """How the run's loss weighs tokens, whichever rule this is; null if its configuration does not say."""
    is_of_run: bool
    """True if the run was trained with it."""
    read_from: str
    """The settings of the run that say so."""


class UpdatePush(Struct, kw_only=True):
    """The sums of the absolute coefficients of some trained tokens: what pushes up, what pushes down.

    A share of the update is a share of `up + down + lost` of all tokens, whichever of the three it is of.

    `lost` is what the tokens that the rule takes out would have contributed; `taken_out` is their number. `unmoved` is
    the number of tokens with an advantage of 0, `uncounted` that of tokens whose coefficient is unknown, infinite or
    above 1e290: the sums leave them out.
    """

    name: str
    """A role, a token string, the id of a sample, a group, positions such as `8–15`; empty for an unknown role."""
    tokens: int
    up: Number
    down: Number
    taken_out: int
    lost: Number
    unmoved: int
    uncounted: int


class SampleUpdate(Struct, kw_only=True):
    """What the step does to one sample, beside the arrays `coefficients` and `effects`."""

    rule: str
    whole: UpdatePush
    by_role: list[UpdatePush]
    by_string: list[UpdatePush]
    """The token strings that push most, or the ids where the record has no strings."""
    by_position: list[UpdatePush]
    """By the number of tokens in the loss that precede a token in its sample."""


class SampleDifference(Struct, kw_only=True):
    """How many of the trained tokens of a sample two rules treat differently."""

    id: str
    differing: int
    tokens: int


class UpdateReply(Struct, kw_only=True):
    """What a step does to the samples of a group or of a step: those that push most first."""

    rule: str
    whole: UpdatePush
    by_sample: list[UpdatePush]
    by_group: list[UpdatePush]
    by_role: list[UpdatePush]
    by_string: list[UpdatePush]
    by_position: list[UpdatePush]
    samples: int
    effective_samples: Number
    """The effective sample size, from the ratios of the sequences; null if no sample has a ratio."""
    left_out: dict[str, int]
    """The number of samples that are left out by the reason: `discarded`, or what their records lack."""
    unnamed: int
    """How many tokens `by_string` leaves out because the samples have more different strings than are kept."""
    differing: list[SampleDifference]
    """The samples with tokens that another rule treats differently, most tokens first, if `against` names one."""
    differing_samples: int
    """How many such samples there are: `differing` lists at most 500."""


class TopLogprobsReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/sample/top-logprobs`: the recorded alternatives of one token, the token among them."""

    id: str
    token: int
    alternatives: list[Alternative]


class TokensHeader(Struct, kw_only=True):
    """Tokens `start` to `start + count` of the `total` that sample `id` has."""

    id: str
    total: int
    start: int
    count: int
    arrays: list[TokenArray]
    rules: list[MaskRuleInfo]
    """The rules of masks that the series of the sample suffice for, the run's own first."""
    updates: list[UpdateRuleInfo]
    """The rules of updates that they suffice for, the run's own first."""
    update: SampleUpdate | None
    """For a request that names a rule."""
    spelling: Literal["plain", "bytes", "pieces"]
    """How the strings are written: as text, in the letters that stand for bytes, or with `▁` for a blank."""
    has_alternatives: bool
    """True if the record holds alternatives of the sample's tokens."""
    partial: dict[str, str]
    """The bytes of the ids that are a part of a character, such as `F0 9F`, where a tokenizer made the strings."""
