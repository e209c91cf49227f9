"""Many lines of JSON at once, as columns: lines whose objects have the same keys decode several times as quickly.

A block of lines decodes into records of one type, which is learned from the lines themselves. What `read` returns holds
for each of its lines what `line_reader.parse` returns for it; where that is in doubt, it returns None.
"""

import contextlib
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate, chain, compress
from typing import Any, NamedTuple, TypeVar, cast

import msgspec
import numpy as np
from msgspec.structs import astuple

from rolloupe.formats.reading import value_parsers
from rolloupe.formats.reading.records import Record
from rolloupe.model import SampleColumns, SampleRow

BLOCK_BYTES = 2**20
"""What is done once for a block takes as long as reading a hundred kilobytes."""
MOST_MEAN_BYTES = 2**16
"""Longer lines are no slower one by one: nearly all their bytes are texts or arrays."""
MAX_KEYS, MAX_KEY_CHARS = 200, 20_000
PATIENCE = 3
"""After so many blocks in a row that did not fit, a scan reads line by line."""
Scalar = bool | int | float | str | None
Raw = msgspec.Raw
Types = frozenset[type]
INTEGERS, TEXTS, NULLS = frozenset((int,)), frozenset((str,)), frozenset((type(None),))
NESTED: Types = frozenset((Raw,))
FLOATS, FLAGS, NUMBERS = frozenset((float,)), frozenset((bool,)), frozenset((int, float))
_OPEN, _CLOSE = b"{", b"}"
_NESTED = b"{[n"
_LOOKED = 64
"""If half of so many texts or integers repeat others, each different one of a column is read once."""
_LEARNED = 8
"""The keys of so many lines are nearly always those of all."""
_MANY_DIGITS = 2_000
"""An integer that Python does not convert, of more than 4,300 digits, fills a piece of this length."""
_decode_any = msgspec.json.Decoder(dict[str, Any]).decode_lines
T = TypeVar("T")


class RecordBlock:
    """The objects of consecutive lines, all with the same keys, by column.

    A column has texts, numbers, flags and nulls, or objects, lists and nulls, which are all `Raw`.
    """

    def __init__(self, columns: Mapping[str, Sequence[Any]], starts: list[int], lengths: list[int]) -> None:
        self.columns = columns
        self.starts, self.lengths = starts, lengths
        self.count = len(starts)
        self._types: dict[str, Types] = {}

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The keys, in the order of some line."""
        return tuple(self.columns)

    @cached_property
    def first(self) -> Record:
        """The object of the first line."""
        firsts = ((key, values[0]) for key, values in self.columns.items())
        return {key: msgspec.json.decode(value) if type(value) is Raw else value for key, value in firsts}

    def types(self, key: str) -> Types:
        """The types of the values in a column; those of nulls for a missing one."""
        if key not in self.columns:
            return NULLS
        if key not in self._types:
            self._types[key] = frozenset(map(type, self.columns[key]))
        return self._types[key]

    def with_columns(self, columns: Mapping[str, Sequence[Any]]) -> "RecordBlock":
        """The block with other values in these columns."""
        return RecordBlock({**self.columns, **columns}, self.starts, self.lengths)

    def values(self, key: str) -> Sequence[Any]:
        """The values in a column, objects and lists decoded: those that follow their like, once."""
        if self.types(key) != NESTED:
            return self.columns[key]
        begun = [*map(operator.ne, self.columns[key], (None, *self.columns[key]))]
        decoded = [msgspec.json.decode(value) for value in compress(self.columns[key], begun)]
        return [decoded[at - 1] for at in accumulate(begun)]

    def read(self, key: str | None, read: Callable[[Any], T]) -> Sequence[T]:
        """The values of a column, each read by a function that depends on the value alone; a missing one has nulls."""
        if key is None or key not in self.columns:
            return [read(None)] * self.count
        values = self.columns[key]
        if self.types(key) not in (TEXTS, INTEGERS) or len({*values[:_LOOKED]}) > _LOOKED // 2:
            return [*map(read, values)]
        known = {value: read(value) for value in {*values}}
        return [*map(known.__getitem__, values)]

    def names(self, key: str) -> Sequence[str | None]:
        """The names in a column: see `value_parsers.name`."""
        return [*map(str, self.columns[key])] if self._are_short(key) else self.read(key, value_parsers.name)

    def counts(self, key: str) -> Sequence[int | None]:
        """The counts in a column: see `value_parsers.count`."""
        is_plain = self._are_short(key) and min(self.columns[key]) >= 0
        return self.columns[key] if is_plain else self.read(key, value_parsers.count)

    def _are_short(self, key: str) -> bool:
        """Whether a column has integers of 64 bits alone."""
        values, most = self.columns.get(key, ()), value_parsers.MAX_INT64
        return self.types(key) == INTEGERS and -most <= min(values) <= max(values) <= most

    def numbers(self, key: str) -> Sequence[float | None]:
        """The numbers in a column: see `value_parsers.number`."""
        if self.types(key) == FLOATS:
            return self.columns[key]
        return [*map(float, self.columns[key])] if self._are_short(key) else self.read(key, value_parsers.number)


class BlockReader:
    """Reads the blocks of one scan."""

    def __init__(self) -> None:
        self._keys: tuple[str, ...] = ()
        self._decode: Callable[[memoryview], list[Any]] | None = None

    def read(self, whole: bytearray, stop: int, place: int) -> RecordBlock | None:
        """Read the lines in the first `stop` bytes, each with its newline, of which the first has a place in its file.

        `Raw` values hold for as long as the bytes.
        """
        starts, end = [0], -1
        while (end := whole.find(b"\n", end + 1, stop)) >= 0:
            starts.append(end + 1)
        ends = [start - 1 for start in starts[1:]]
        del starts[-1]
        # No object goes on in a line that begins with a brace if the line before it ends with one.
        firsts, lasts = (bytes(map(whole.__getitem__, places)) for places in (starts, (end - 1 for end in ends)))
        if stop > MOST_MEAN_BYTES * len(ends) or firsts.strip(_OPEN):
            return None
        if lasts.strip(_CLOSE) and any(whole[end - 1] != _CLOSE[0] and whole[end - 2 : end] != b"}\r" for end in ends):
            return None
        data = memoryview(whole)[:stop]
        records = _decoded(self._decode, data)
        few = starts[_LEARNED] if len(starts) > _LEARNED else stop
        for size in dict.fromkeys((few, stop)):
            if records is None and self._learn(data[:size]):
                records = _decoded(self._decode, data)
        if records is None or len(records) != len(ends):
            return None
        columns = dict(zip(self._keys, zip(*map(astuple, records), strict=True), strict=True))
        lengths = [end - start for start, end in zip(starts, ends, strict=True)]
        block = RecordBlock(columns, [place + start for start in starts], lengths)
        nested = [memoryview(value) for key in self._keys if Raw in block.types(key) for value in columns[key]]
        if any(value[0] not in _NESTED for value in nested):
            return None
        pieces = range(0, stop, _MANY_DIGITS) if max(map(len, nested), default=0) > _MANY_DIGITS else ()
        has_large = any(whole[at] in b"0123456789" and whole[at : at + _MANY_DIGITS].isdigit() for at in pieces)
        return None if has_large else block

    def _learn(self, data: memoryview) -> bool:
        """Learn the keys of some lines, and which of them have objects or lists."""
        if not (records := _decoded(_decode_any, data)):
            return False
        keys = records[0].keys()
        is_usual = 0 < len(keys) <= MAX_KEYS and len("".join(keys)) <= MAX_KEY_CHARS
        if not is_usual or any(record.keys() != keys for record in records):
            return False
        nested = (any(type(record[key]) in (dict, list) for record in records) for key in keys)
        try:
            self._decode = _decoder(tuple(keys), tuple(nested))
        except ValueError:  # a key that no member of a struct can have
            return False
        self._keys = tuple(keys)
        return True


def _decoded(decode: Callable[[memoryview], list[Any]] | None, data: memoryview) -> list[Any] | None:
    with contextlib.suppress(msgspec.DecodeError, ValueError, RecursionError):
        return decode(data) if decode else None
    return None


@lru_cache(maxsize=64)
def _decoder(keys: tuple[str, ...], nested: tuple[bool, ...]) -> Callable[[memoryview], list[Any]]:
    """Return a decoder of lines of objects that have just these keys."""
    types = [Raw if is_nested else Scalar for is_nested in nested]
    names = [f"m{number}" for number in range(len(keys))]
    record = msgspec.defstruct(
        "Members", [*zip(names, types, strict=True)], rename=dict(zip(names, keys, strict=True)),
        forbid_unknown_fields=True, gc=False,
    )  # fmt: skip
    return msgspec.json.Decoder(record).decode_lines


def are_exact(numbers: Sequence[float | None]) -> bool:
    """Return whether all numbers lie below 2^53: floats and browsers hold such integers exactly."""
    try:
        return not bool((np.abs(np.array(numbers, np.float64)) >= value_parsers.MAX_STEP).any())
    except OverflowError:
        return False


def first_of(columns: Sequence[Sequence[T | None]]) -> Sequence[T | None]:
    """Return for each place the first value among some columns that is not None."""
    if len(columns) == 1:
        return columns[0]
    return [next((value for value in values if value is not None), None) for values in zip(*columns, strict=True)]


def changes(texts: Sequence[str]) -> list[str]:
    """Return each text that differs from the one before it: to compare long texts is quicker than to hash them."""
    return [text for before, text in zip((None, *texts), texts) if text != before]  # noqa: B905 - the last has no next


def group_names(names: Sequence[str | None], prompts: Sequence[str]) -> Sequence[str]:
    """Return the names of groups; the prompt makes a missing one."""
    if None not in names:
        return cast("Sequence[str]", names)
    found, last, made = [], None, ""
    for name, prompt in zip(names, prompts, strict=True):
        if name is None and prompt != last:
            last, made = prompt, value_parsers.digest(prompt)
        found.append(made if name is None else name)
    return found


Asked = tuple[Sequence[str], Mapping[str, Sequence[int]]]


def prompts_in(block: RecordBlock, key: str) -> Asked | None:
    """Return the prompts in a column, texts or lists of messages, as texts, and where questions begin as a field."""
    if block.types(key) == TEXTS:
        return block.columns[key], {}
    chats = block.values(key) if block.types(key) == NESTED else [None]
    if not all(value_parsers.is_messages(chat) and chat[0].keys() >= {"role", "content"} for chat in chats):
        return None
    shown = {id(chat): (value_parsers.joined(chat), value_parsers.question_at(chat)) for chat in chats}
    prompts, questions = zip(*(shown[id(chat)] for chat in chats), strict=True)
    return prompts, {"question": questions}


class Rewards(NamedTuple):
    """The rewards in a column, and the sample metrics and tags that are stored as their parts."""

    values: Sequence[float | None]
    metrics: Mapping[str, Sequence[float | None]]
    tags: Mapping[str, Sequence[str | None]]


def rewards_in(block: RecordBlock, key: str) -> Rewards:
    """Return the rewards in a column: see `value_parsers.reward`."""
    if block.types(key) <= NUMBERS | FLAGS | NULLS:
        return Rewards(block.numbers(key), {}, {})
    values = block.values(key)
    names = [*values[0]] if type(values[0]) is dict else []
    are_alike = all(type(value) is dict and value.keys() == values[0].keys() for value in values)
    if are_alike and len({*map(str.lower, names)}) == len(names):
        members = {name: [*map(operator.itemgetter(name), values)] for name in names}
        inner = RecordBlock(members, block.starts, block.lengths)
        if all(inner.types(name) <= NUMBERS | FLAGS for name in names):  # the names alone decide which is the whole
            place = value_parsers.reward({name: place for place, name in enumerate(names)}).value
            wholes = [None] * block.count if place is None else inner.numbers(names[int(place)])
            return Rewards(wholes, {f"reward.{name}": inner.numbers(name) for name in names}, {})
    rewards = [*map(value_parsers.reward, values)]
    metrics, tags = by_name([reward.metrics for reward in rewards]), by_name([reward.tags for reward in rewards])
    return Rewards([reward.value for reward in rewards], metrics, tags)


def have_texts(block: RecordBlock, rewards: Sequence[float | None]) -> bool:
    """Return whether some record without a reward may have a text in its place: see `value_parsers.reward_texts`."""
    return None in rewards and any(block.types(key) >= TEXTS for key in value_parsers.REWARDS)


def fields_of(
    block: RecordBlock, asked: Asked, response: str, groups: Sequence[str | None], statuses: Sequence[tuple[str, str]]
) -> dict[str, Sequence[Any]]:
    """Return the fields that samples of all formats have."""
    return {
        "group": group_names(groups, asked[0]),
        "status": [status for status, _ in statuses],
        "status_raw": [word for _, word in statuses],
        "prompt": asked[0],
        "response": block.columns[response],
        "ordinal": block.starts,
        "start": block.starts,
        "length": block.lengths,
        **asked[1],
    }


def rows_of(samples: SampleColumns) -> list[SampleRow]:
    """Return samples as rows, whose metrics and tags may be changed."""
    rows = [*samples.rows()]
    for at, row in enumerate(rows):
        row.metrics = {name: value for name, values in samples.metrics.items() if (value := values[at]) is not None}
        row.tags = {name: value for name, values in samples.tags.items() if (value := values[at]) is not None}
    return rows


def completed(samples: SampleColumns, rows: Sequence[SampleRow], *names: str) -> SampleColumns | None:
    """Return samples with some fields, all metrics and all tags of their rows."""
    fields = {**samples.fields, **{name: [getattr(row, name) for row in rows] for name in names}}
    metrics, tags = by_name([row.metrics for row in rows]), by_name([row.tags for row in rows])
    are_usual = all(map(are_exact, metrics.values()))
    return SampleColumns(count=samples.count, fields=fields, metrics=metrics, tags=tags) if are_usual else None


def by_name(rows: Sequence[Mapping[str, T]]) -> dict[str, list[T | None]]:
    """Return the members of some objects as columns, in the order in which their names appear."""
    return {name: [row.get(name) for row in rows] for name in dict.fromkeys(chain.from_iterable(rows))}


def in_order(columns: Iterable[tuple[str, Sequence[T | None]]]) -> dict[str, Sequence[T | None]]:
    """Return named columns in the order in which their first values appear, without those that have none."""
    firsts = {}
    for name, values in columns:
        first = next((place for place, value in enumerate(values) if value is not None), None)
        if first is not None:
            firsts[name] = first, values
    return {name: values for name, (_, values) in sorted(firsts.items(), key=lambda item: item[1][0])}
