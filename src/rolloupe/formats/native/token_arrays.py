"""The tokens of the samples of a file: their lines decoded as far as needed, their series row group by row group."""

import os

import msgspec
import numpy as np
from msgspec import Struct

from rolloupe import tokens
from rolloupe.formats.native.part_reader import PartReader
from rolloupe.formats.native.token_parts import PartUnreadable, part_path
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.files import links_of, stem
from rolloupe.model import Location, RunInfo, Source
from rolloupe.tokens import SampleTokens


class _SeriesPlace(Struct):
    part: int
    row: int


class _TokensLine(Struct):
    """What a line says about its tokens."""

    uid: str | int | None = None
    series: _SeriesPlace | None = None
    tokens: list[str] | None = None


class NativeTokens:
    """Reads the tokens of the samples of one file."""

    def __init__(self, run: RunInfo, source: Source) -> None:
        self._run, self._producer = run, stem(os.path.basename(source.path))
        self._links = links_of(run)
        self._locations: dict[int, Location] = {}
        """That of the part that was read last."""
        self._parts = PartReader()
        self._decode = msgspec.json.Decoder(_TokensLine).decode

    def read(self, data: bytes) -> SampleTokens | None:
        """The tokens of a line's sample; None if only reading the whole sample shows them."""
        try:
            line = self._decode(data)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return None
        strings = line.tokens or []
        if line.series is None:
            return SampleTokens(len(strings), {}, strings=strings)
        if min(line.series.part, line.series.row) < 0:
            return None
        try:
            group, row = self._parts.row(self._location(line.series.part), line.series.row)
        except PartUnreadable:
            return SampleTokens(len(strings), {}, strings=strings)
        if group.uids[row] != (fields.name(line.uid) or ""):
            return SampleTokens(len(strings), {}, strings=strings)
        ids, stored = group.ids(row), group.series(row)
        mask = stored.get(tokens.MASK)
        shown = {name: one if name == tokens.MASK else tokens.under_mask(one, mask) for name, one in stored.items()}
        count = 0 if ids is None else len(ids)
        total = max(count, len(strings), *map(len, shown.values()), 0)
        series = {name: _placed(values, count, total) for name, values in shown.items()}
        return SampleTokens(total, series, ids=ids, strings=strings)

    def _location(self, part: int) -> Location:
        if part not in self._locations:
            self._locations = {part: Location(str(part_path(self._run.root, self._producer, part)), self._links)}
        return self._locations[part]


def _placed(values: tokens.Floats, count: int, total: int) -> tokens.Floats:
    """Values at the last of `count` tokens, or else at the first of `total`."""
    if len(values) == total:
        return values
    found = np.full(total, np.nan)
    first = max(0, count - len(values))
    found[first : first + len(values)] = values
    return found
