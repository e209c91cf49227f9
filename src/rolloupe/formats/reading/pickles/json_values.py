"""Converts the values of a pickle to JSON, for a record: every text is valid, every key a text, every array a list.

A marker becomes an object with the name that was not called, a long array its type and shape. Values that contain
themselves, or that are nested or repeated beyond bounds, become a note.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from rolloupe import text
from rolloupe.formats.reading.pickles import values
from rolloupe.formats.reading.value_parsers import MAX_DEPTH, TOO_DEEP

MAX_VALUES = 2**20
"""The most values in a record: a pickle may repeat an object without writing it again."""
COST = 8
"""The cost of a value unless all values are wanted: the parts of a shown sample may repeat the same values."""
CHARACTERS = 64
"""A text costs one more value for this many characters."""
FREE_VALUES = 2**21
VALUES_PER_BYTE = 4
MANY = 2**12
"""Longer arrays become their type and shape unless all values are wanted."""
NOT_CALLED = "not called"
"""The key of a marker's name."""
TOO_MANY = "(more values than are shown: see the file)"


class Repetitive(values.UnreadablePickle):
    """Raised for a file whose records have far more values than it has bytes, because it repeats them."""


class ValueBudget:
    """The number of values that all records of a file may have, by its size; repeated values count each time."""

    def __init__(self, size_bytes: int) -> None:
        self._left = FREE_VALUES + VALUES_PER_BYTE * size_bytes

    def spend(self, count: int) -> None:
        """Spend values. Raises `UnreadablePickle` if too few are left."""
        self._left -= count
        if self._left < 0:
            raise Repetitive("the file repeats its values too often: read no further")


def as_json(value: Any, *, most: int = MANY, budget: ValueBudget | None = None) -> Any:
    """Return a value in the types of JSON, with arrays up to a length of `most` as lists. Raises `UnreadablePickle`."""
    converter = _Converter(most)
    try:
        return converter.of(value, 0)
    finally:
        if budget is not None:
            budget.spend(MAX_VALUES - converter.left)


class _Converter:
    def __init__(self, most: int) -> None:
        self._most = most
        self.left = MAX_VALUES
        self._cost = 1 if most > MANY else COST
        """The cost of each value."""

    def of(self, value: Any, depth: int) -> Any:
        self.left -= self._cost + (len(value) // CHARACTERS if isinstance(value, str | bytes | bytearray) else 0)
        if isinstance(value, values.Blob):
            self.left -= value.length // CHARACTERS
        if self.left < 0:
            return TOO_MANY
        if depth > MAX_DEPTH:
            return TOO_DEEP
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, str | values.Blob | bytes | bytearray | values.Name | complex):
            return _text_of(value)
        if isinstance(value, dict):
            members = zip(value, self._some(value.values(), depth), strict=False)
            return {
                f"({key.name})" if isinstance(key, values.Opaque) else _text_of(key): member for key, member in members
            }
        if isinstance(value, (list, tuple, set, frozenset)):
            return [*self._some(value, depth)]
        if (
            isinstance(value, values.NumberList | values.Tensor | values.ArrayValue)
            and getattr(value, "state", None) is None
        ):
            return self._numbers(value, depth)
        if isinstance(value, values.StorageRef):
            return f"(a storage of {value.kind})"
        if isinstance(value, values.NumpyType):
            return f"numpy.dtype({value.text})"
        return self._marker(value, depth)

    def _some(self, items: Iterable[Any], depth: int) -> Iterator[Any]:
        """Yield the values of a container, up to the first that is not shown."""
        for item in items:
            yield self.of(item, depth + 1)
            if self.left < 0:
                return

    def _numbers(self, value: values.NumberList | values.Tensor | values.ArrayValue, depth: int) -> Any:
        if isinstance(value, values.NumberList) and value.array() is None:
            return [*self._some(value.values(), depth)]
        count = len(value) if isinstance(value, values.NumberList) else value.size
        self.left -= count if count <= self._most else 0
        try:
            array = value.array() if count <= self._most and self.left >= 0 else None
        except values.UnreadablePickle as error:
            return f"({error})"
        if array is not None:
            return self.of(array.tolist(), depth) if array.dtype.kind in "cSU" else array.tolist()
        if isinstance(value, values.NumberList):
            return f"(list: {count:,} values)"
        kind = value.kind if isinstance(value, values.Tensor) else value.type_text
        return f"({kind}[{', '.join(map(str, value.shape))}]: {count:,} values)"

    def _marker(self, value: Any, depth: int) -> dict[str, Any]:
        if isinstance(value, values.ArrayValue):
            value = values.Opaque("numpy.ndarray", (), value.state)
        assert isinstance(value, values.Opaque)
        shown: dict[str, Any] = {NOT_CALLED: _text_of(value.name)}
        for key, part in (("arguments", value.arguments), ("state", value.state), ("items", value.items)):
            if part not in ((), None, []):
                shown[key] = self.of(part, depth + 1)
        return shown


def _text_of(value: Any) -> str:
    if isinstance(value, values.Blob):
        value = value.value()
    if isinstance(value, bytes | bytearray):
        value = bytes(value).decode("utf-8", "replace")
    return text.clean(value if isinstance(value, str) else str(value))
