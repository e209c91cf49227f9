"""A page of tokens as bytes: a JSON header, then the arrays as in memory. docs/tokens-wire.md has the layout."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rolloupe import tokens
from rolloupe.model import RunLoss
from rolloupe.query import TokenPage, TokenUpdate, UpdateMass
from rolloupe.wire import encoding
from rolloupe.wire.encoding import record_from
from rolloupe.wire.samples import MaskRuleInfo, SampleUpdate, TokenArray, TokensHeader, UpdatePush, UpdateRuleInfo

MAGIC = b"RLTK\x02\0\0\0"
"""The layout and its version, padded to 8 bytes."""

MAX_TEXT = 1_000
"""Characters of a token string in a table; no token of a vocabulary has as many."""

FIRST_POSITIONS = 8
"""Positions in the first row of a table; each further row has as many as all before it."""

ALIGNMENT = 8
INT32 = 2**31


class _Column(NamedTuple):
    """An array and its place in the header."""

    kind: str
    name: str
    values: NDArray[Any]


def encoded(
    id: str, page: TokenPage, update: tuple[str, TokenUpdate] | None = None, *, is_compact: bool = False
) -> bytes:
    """Encode a page of tokens. Copies the arrays once, into the answer.

    With an update, which has the name of a rule, the arrays are those of the update alone. Compact pages have series
    and coefficients of 32 bits, which hold 7 digits, and effects of 8.
    """
    kinds = ("<f4", "u1") if is_compact else ("<f8", "<i4")
    if update is None:
        columns = [*_columns(page, kinds[0])]
    else:
        part = slice(page.start, page.stop)
        with np.errstate(over="ignore"):
            coefficients = update[1].coefficients[part].astype(kinds[0], copy=False)
        effects = update[1].effects[part].astype(kinds[1], copy=False)
        columns = [_Column("update", "coefficients", coefficients), _Column("update", "effects", effects)]
    listed, at = [], 0
    for kind, name, values in columns:
        array = TokenArray(kind=kind, name=name, dtype=values.dtype.str[1:], offset=at, length=len(values))
        if kind == "series":
            known = tokens.kind_of(name)
            array.title, array.about, array.scale = known.title, known.about, known.scale
            array.origin = page.origins[name]
        listed.append(array)
        at += _padded(values.nbytes)
    header = TokensHeader(
        id=id,
        total=page.total,
        start=page.start,
        count=page.stop - page.start,
        arrays=listed,
        rules=[
            MaskRuleInfo(
                name=rule.name,
                title=rule.title,
                series=series,
                limits=[*rule.limits],
                is_of_run=page.loss is not None and rule.name == page.loss.rule,
            )
            for rule, series in page.rules
        ],
        updates=[_update_rule(name, page.loss) for name in page.updates],
        update=None
        if update is None
        else SampleUpdate(
            rule=update[0],
            whole=pushed("", update[1].whole),
            by_role=[pushed(*pair) for pair in update[1].by_role.items()],
            by_string=[pushed(*pair) for pair in update[1].by_string.items()],
            by_position=pushed_by_position(update[1].by_position),
        ),
        spelling=page.spelling,
        has_alternatives=page.has_alternatives,
        partial={str(token): piece.hex(" ").upper() for token, piece in page.partial.items()},
    )
    text = encoding.encode(header)
    text += b" " * (_padded(len(text)) - len(text))
    pieces: list[bytes | memoryview] = [MAGIC, len(text).to_bytes(8, "little"), text]
    for _, _, values in columns:
        pieces += [values.data, bytes(_padded(values.nbytes) - values.nbytes)]
    return b"".join(pieces)


def _update_rule(name: str, loss: RunLoss | None) -> UpdateRuleInfo:
    kind, own = tokens.UPDATES[name], loss if loss is not None and loss.rule == name else None
    return UpdateRuleInfo(
        name=name,
        title=kind.title,
        about=kind.about,
        thresholds=kind.thresholds if own is None else kind.thresholds | own.thresholds,
        kl_weight=0.0 if loss is None else loss.kl_weight,
        kl_setting="" if loss is None else loss.kl_setting,
        left_out={} if loss is None else loss.left_out,
        aggregation=None if loss is None else loss.aggregation,
        is_of_run=own is not None,
        read_from="" if own is None else own.read_from,
    )


def pushed_by_position(by_position: Mapping[int, UpdateMass]) -> list[UpdatePush]:
    """Return the sums of positions 0 to 7, 8 to 15, 16 to 31 and so on, to the last token."""
    rows: dict[int, list[UpdateMass]] = {}
    for position, push in sorted(by_position.items()):
        first = 1 << position.bit_length() >> 1
        rows.setdefault(first if first >= FIRST_POSITIONS else 0, []).append(push)
    sums = {first: UpdateMass(*map(sum, zip(*pushes, strict=True))) for first, pushes in rows.items()}
    return [pushed(f"{first:,}–{max(FIRST_POSITIONS, 2 * first) - 1:,}", push) for first, push in sums.items()]


def pushed(name: str, push: UpdateMass) -> UpdatePush:
    """Return the sums of some tokens as a record."""
    return record_from(UpdatePush, push, name=name[:MAX_TEXT])


def _padded(size_bytes: int) -> int:
    return -(-size_bytes // ALIGNMENT) * ALIGNMENT


def _columns(page: TokenPage, of_series: str) -> Iterator[_Column]:
    if page.ids is not None:
        fits = not len(page.ids) or bool((np.abs(page.ids) < INT32).all())
        yield _Column("ids", "ids", page.ids.astype("<i4" if fits else "<f8"))
    for name, places in page.spans._asdict().items():
        yield _Column("span", name, places.astype("<i4", copy=False))
    if page.strings is not None:  # one text in UTF-8, and the end of each string in it
        pieces = [one.encode("utf-8", "replace") for one in page.strings]
        yield _Column("text", "bytes", np.frombuffer(b"".join(pieces), dtype=np.uint8))
        yield _Column("text", "ends", np.cumsum([len(one) for one in pieces], dtype="<u4"))
    for name, values in page.series.items():
        with np.errstate(over="ignore"):
            yield _Column("series", name, values.astype(of_series, copy=False))
