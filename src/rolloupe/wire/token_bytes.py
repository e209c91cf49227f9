"""A page of tokens as bytes: a JSON header, then the arrays as in memory. docs/tokens-wire.md has the layout."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rolloupe import tokens
from rolloupe.model import RunLoss
from rolloupe.query import TokenPage, TokenUpdate, UpdateMass
from rolloupe.wire import encoding
from rolloupe.wire.samples import MaskRuleInfo, SampleUpdate, TokenArray, TokensHeader, UpdatePush, UpdateRuleInfo

MAGIC = b"RLTK\x02\0\0\0"
"""The layout and its version, padded to 8 bytes."""

MAX_TEXT = 1_000
"""Characters of a token string in a table; every token of a vocabulary is shorter."""

FIRST_POSITIONS = 8
"""Positions in the first row of a table; each later row has as many as all rows before it."""

ALIGNMENT = 8
INT32 = 2**31

NO_LOSS = RunLoss(rule="", read_from="")
"""The loss of a run whose configuration does not name one."""


_Column = tuple[str, str, NDArray[Any]]
"""The kind of an array, its name and its values."""


def encoded(
    id: str, page: TokenPage, update: tuple[str, TokenUpdate] | None = None, *, is_compact: bool = False
) -> bytes:
    """Encode a page of tokens. Copies the arrays once, into the answer.

    With an update and the name of its rule, the arrays are those of the update alone. Compact pages have series and
    coefficients of 32 bits, which hold 7 digits, and effects of 8 bits.
    """
    of_series, of_effects = ("<f4", "u1") if is_compact else ("<f8", "<i4")
    with np.errstate(over="ignore"):
        if update is None:
            columns = [*_columns(page, of_series)]
        else:
            part = slice(page.start, page.stop)
            coefficients = update[1].coefficients[part].astype(of_series, copy=False)
            effects = update[1].effects[part].astype(of_effects, copy=False)
            columns = [("update", "coefficients", coefficients), ("update", "effects", effects)]
    arrays, offset = [], 0
    for kind, name, values in columns:
        array = TokenArray(kind=kind, name=name, dtype=values.dtype.str[1:], offset=offset, length=len(values))
        if kind == "series":
            known = tokens.kind_of(name)
            array.title, array.about, array.scale = known.title, known.about, known.scale
            array.origin = page.origins[name]
        arrays.append(array)
        offset += _padded(values.nbytes)
    header = encoding.record_from(
        TokensHeader,
        page,
        id=id,
        count=page.stop - page.start,
        arrays=arrays,
        rules=[
            encoding.record_from(
                MaskRuleInfo,
                rule,
                series=series,
                limits=[*rule.limits],
                is_of_run=page.loss is not None and rule.name == page.loss.rule,
            )
            for rule, series in page.rules
        ],
        updates=[_update_rule(name, page.loss or NO_LOSS) for name in page.updates],
        update=None if update is None else _sample_update(*update),
        partial={str(token): piece.hex(" ").upper() for token, piece in page.partial.items()},
    )
    text = encoding.encode(header)
    text += b" " * (_padded(len(text)) - len(text))
    pieces: list[bytes | memoryview] = [MAGIC, len(text).to_bytes(8, "little"), text]
    for _, _, values in columns:
        pieces += [values.data, bytes(_padded(values.nbytes) - values.nbytes)]
    return b"".join(pieces)


def _sample_update(rule: str, update: TokenUpdate) -> SampleUpdate:
    return SampleUpdate(
        rule=rule,
        whole=pushed("", update.whole),
        by_role=[pushed(*pair) for pair in update.by_role.items()],
        by_string=[pushed(*pair) for pair in update.by_string.items()],
        by_position=pushed_by_position(update.by_position),
    )


def _update_rule(name: str, loss: RunLoss) -> UpdateRuleInfo:
    kind, is_of_run = tokens.UPDATES[name], loss.rule == name
    return encoding.record_from(
        UpdateRuleInfo,
        kind,
        loss,
        name=name,
        thresholds=kind.thresholds | loss.thresholds if is_of_run else kind.thresholds,
        is_of_run=is_of_run,
        read_from=loss.read_from if is_of_run else "",
    )


def pushed_by_position(by_position: Mapping[int, UpdateMass]) -> list[UpdatePush]:
    """Return the sums of positions 0 to 7, 8 to 15, 16 to 31 and so on, to the last token."""
    rows: dict[int, list[UpdateMass]] = {}
    for position, push in sorted(by_position.items()):
        first = 1 << position.bit_length() >> 1
        rows.setdefault(first if first >= FIRST_POSITIONS else 0, []).append(push)
    sums = {first: UpdateMass(*(sum(column) for column in zip(*pushes, strict=True))) for first, pushes in rows.items()}
    return [pushed(f"{first:,}–{max(FIRST_POSITIONS, 2 * first) - 1:,}", push) for first, push in sums.items()]


def pushed(name: str, push: UpdateMass) -> UpdatePush:
    """Return the sums of some tokens as a record."""
    return encoding.record_from(UpdatePush, push, name=name[:MAX_TEXT])


def _padded(size_bytes: int) -> int:
    return -(-size_bytes // ALIGNMENT) * ALIGNMENT


def _columns(page: TokenPage, of_series: str) -> Iterator[_Column]:
    if page.ids is not None:
        fits = not len(page.ids) or bool((np.abs(page.ids) < INT32).all())
        yield ("ids", "ids", page.ids.astype("<i4" if fits else "<f8"))
    for name, places in page.spans._asdict().items():
        yield ("span", name, places.astype("<i4", copy=False))
    if page.strings is not None:  # one text in UTF-8, and the end of each string in it
        pieces = [string.encode("utf-8", "replace") for string in page.strings]
        yield ("text", "bytes", np.frombuffer(b"".join(pieces), dtype=np.uint8))
        yield ("text", "ends", np.cumsum([*map(len, pieces)], dtype="<u4"))
    for name, values in page.series.items():
        yield ("series", name, values.astype(of_series, copy=False))
