"""The header of `GET /api/runs/{run}/sample/tokens`; the arrays follow it in binary. See docs/tokens-wire.md."""

from typing import Literal

from msgspec import Struct


class TokenArray(Struct, kw_only=True):
    """An array of the answer: `length` elements from byte `offset` on, counted from the end of the header.

    `kind` is `series`, `ids`, `span` (`turn`, `part`, `start`, `stop`) or `text` (`bytes`, `ends`).
    """

    kind: str
    name: str
    dtype: str
    """`f8`, `i4`, `u4` or `u1`, little-endian."""
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


class MaskLimit(Struct, kw_only=True):
    """Takes a token out of the loss if its value is beyond `base + factor * value`.

    That is above it for the side `high` and below it for `low`, of the tokens under the loss mask whose advantage has
    one of the signs: `up` above 0, `down` below 0, `zero` otherwise. NaN is beyond nothing.
    """

    threshold: str
    """The threshold of the rule that `value` is; several limits may share one."""
    value: float
    side: Literal["low", "high"]
    signs: list[Literal["up", "zero", "down"]]
    base: float
    factor: float


class MaskRuleInfo(Struct, kw_only=True):
    """A rule that takes tokens out of the loss: those beyond one of its limits."""

    name: str
    title: str
    series: str
    """The series that the rule compares."""
    limits: list[MaskLimit]
    is_of_run: bool
    """True if the run was trained with it."""


class TokensHeader(Struct, kw_only=True):
    """Tokens `start` to `start + count` of the `total` that sample `id` has."""

    id: str
    total: int
    start: int
    count: int
    arrays: list[TokenArray]
    rules: list[MaskRuleInfo]
    """The rules that the series of the sample suffice for, the run's own first."""
