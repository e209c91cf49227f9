"""A page of tokens as bytes: a JSON header, then the arrays as in memory. docs/tokens-wire.md has the layout."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rolloupe import tokens
from rolloupe.query import TokenPage
from rolloupe.server import replies, wire

MAGIC = b"RLTK\x02\0\0\0"
"""The layout and its version, padded to 8 bytes."""

ALIGNMENT = 8
INT32 = 2**31


class _Column(NamedTuple):
    """An array and its place in the header."""

    kind: str
    name: str
    values: NDArray[Any]


def encoded(id: str, page: TokenPage) -> bytes:
    """Encode a page of tokens. Copies the arrays once, into the answer."""
    columns = list(_columns(page))
    listed, at = [], 0
    for kind, name, values in columns:
        array = wire.TokenArray(kind=kind, name=name, dtype=values.dtype.str[1:], offset=at, length=len(values))
        if kind == "series":
            known = tokens.kind_of(name)
            array.title, array.about, array.scale = known.title, known.about, known.scale
            array.origin = page.origins[name]
        listed.append(array)
        at += _padded(values.nbytes)
    count = page.stop - page.start
    header = wire.TokensHeader(
        id=id, total=page.total, start=page.start, count=count, arrays=listed, rules=_rules(page)
    )
    text = replies.encode(header)
    text += b" " * (_padded(len(text)) - len(text))
    pieces: list[bytes | memoryview] = [MAGIC, len(text).to_bytes(8, "little"), text]
    for _, _, values in columns:
        pieces += [values.data, bytes(_padded(values.nbytes) - values.nbytes)]
    return b"".join(pieces)


def _rules(page: TokenPage) -> list[wire.MaskRuleInfo]:
    return [
        wire.MaskRuleInfo(
            name=rule.name,
            title=rule.title,
            series=series,
            limits=[wire.MaskLimit(**{**limit._asdict(), "signs": list(limit.signs)}) for limit in rule.limits],
            is_of_run=False,
        )
        for rule, series in page.rules
    ]


def _padded(size_bytes: int) -> int:
    return -(-size_bytes // ALIGNMENT) * ALIGNMENT


def _columns(page: TokenPage) -> Iterator[_Column]:
    if page.ids is not None:
        fits = not len(page.ids) or bool((np.abs(page.ids) < INT32).all())
        yield _Column("ids", "ids", page.ids.astype("<i4" if fits else "<f8"))
    for name, places in page.spans._asdict().items():
        yield _Column("span", name, places.astype("<i4", copy=False))
    if page.strings is not None:
        yield from _texts(page.strings)
    for name, values in page.series.items():
        yield _Column("series", name, values.astype("<f8", copy=False))


def _texts(strings: Sequence[str]) -> Iterator[_Column]:
    """Yield token strings as one text in UTF-8, and the end of each of them in it."""
    pieces = [one.encode("utf-8", "replace") for one in strings]
    yield _Column("text", "bytes", np.frombuffer(b"".join(pieces), dtype=np.uint8))
    yield _Column("text", "ends", np.cumsum([len(one) for one in pieces], dtype="<u4"))
