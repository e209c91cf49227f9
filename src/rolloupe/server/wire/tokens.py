"""The header of `GET /api/runs/{run}/sample/tokens`; the arrays follow it in binary. See docs/tokens-wire.md."""

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


class TokensHeader(Struct, kw_only=True):
    """Tokens `start` to `start + count` of the `total` that sample `id` has."""

    id: str
    total: int
    start: int
    count: int
    arrays: list[TokenArray]
