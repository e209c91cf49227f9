"""The tokens of the samples of a file: their lines decoded as far as needed, their series row group by row group."""

import os
from collections.abc import Sequence

import msgspec
import numpy as np
from msgspec import Struct

from rolloupe import tokens
from rolloupe.formats.native.part_reader import PartReader, StoredTokens
from rolloupe.formats.native.token_parts import PartUnreadable, part_path
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.files import links_of, stem
from rolloupe.model import Location, RunInfo, Source
from rolloupe.tokens import SampleTokens


class _SeriesPlace(Struct):
    part: int
    row: int


class _TokensLine(Struct):
    """What a line of samples or annotations says about tokens."""

    uid: str | int | None = None
    series: _SeriesPlace | None = None
    tokens: list[str] | None = None
    advantage: float | str | None = None


class NativeTokens:
    """Reads the tokens of the samples of one file."""

    def __init__(self, run: RunInfo, source: Source) -> None:
        self._run, self._source = run, source.path
        self._links = links_of(run)
        self._locations: dict[tuple[str, int], Location] = {}
        self._parts = PartReader()
        self._decode = msgspec.json.Decoder(_TokensLine).decode

    def read(self, data: bytes, annotations: Sequence[tuple[str, bytes]] = ()) -> SampleTokens | None:
        """The tokens of a line's sample; None if only reading the whole sample shows them.

        `annotations` are lines about the sample, oldest first, each with the name of its file.
        """
        try:
            line = self._decode(data)
            newer = [(source, self._decode(one)) for source, one in annotations]
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return None
        strings, uid = line.tokens or [], fields.name(line.uid) or ""
        places = [(self._source, line.series), *((source, one.series) for source, one in newer)]
        if any(place is not None and min(place.part, place.row) < 0 for _, place in places):
            return None
        found = [self._stored(source, place, uid) for source, place in places if place is not None]
        stored: dict[str, tokens.Floats] = {}
        for one in found:
            stored |= one.series
        ids = found[0].ids if found and line.series is not None else None
        if any(one.ids is not None and one.ids is not ids for one in found):
            return None  # ids that came later place older series
        mask = tokens.mask_of(stored)
        shown = {
            name: one if mask is None or name in tokens.MASKS else tokens.under_mask(one, mask)
            for name, one in stored.items()
        }
        count = 0 if ids is None else len(ids)
        total = max(count, len(strings), *map(len, shown.values()), 0)
        series = {name: _placed(values, count, total) for name, values in shown.items()}
        advantages = (fields.number(one.advantage) for _, one in newer)
        advantage = next((one for one in reversed([*advantages]) if one is not None), None)
        return SampleTokens(total, series, ids=ids, strings=strings, advantage=advantage)

    def _stored(self, source: str, place: _SeriesPlace, uid: str) -> StoredTokens:
        """What the part of a line's producer holds in a row; nothing if that is of another sample, or unreadable."""
        key = (stem(os.path.basename(source)), place.part)
        if key not in self._locations:
            self._locations[key] = Location(str(part_path(self._run.root, *key)), self._links)
        try:
            group, row = self._parts.row(self._locations[key], place.row)
        except PartUnreadable:
            return StoredTokens(None, {})
        if group.uids[row] != uid:
            return StoredTokens(None, {})
        return group.stored(row)


def _placed(values: tokens.Floats, count: int, total: int) -> tokens.Floats:
    """Values at the last of `count` tokens, or else at the first of `total`."""
    if len(values) == total:
        return values
    found = np.full(total, np.nan)
    first = max(0, count - len(values))
    found[first : first + len(values)] = values
    return found
