"""The values that a pickle describes beyond plain ones: names, markers, tensors, and lists and texts read on demand."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from rolloupe.formats.reading.pickles.number_runs import count_of, values_of
from rolloupe.formats.reading.pickles.window import Read, UnreadablePickle

Order = Literal["<", ">"]

MAX_VALUES = 2**21
"""Most values of one tensor that are read: a view may repeat those of its storage, and no sample has more tokens."""


class Name(Struct, frozen=True):
    """Something that a pickle names to have it imported, which never happens."""

    name: str

    def __str__(self) -> str:
        return self.name


class Opaque(Struct, eq=False):
    """A marker for an object of a class that is not known here, or for a call that was not made.

    `arguments` are those of the call; `state` and `items` are what the object was to be filled with.
    """

    name: str
    arguments: tuple[Any, ...] = ()
    state: Any = None
    items: list[Any] = []

    def extend(self, items: Sequence[Any]) -> None:
        """Note items of an object that is like a list, or pairs of one that is like a dict."""
        self.items.extend(items)


def simple(value: Any) -> Any:
    """Return the value of an enum's member, the text of a name, the number in an array; other values as they are.

    A pickle holds a member of an enum as a call of its class with the value.
    """
    if isinstance(value, Name):
        return value.name
    if isinstance(value, Blob):
        return value.value()
    if isinstance(value, Tensor | ArrayValue):
        return _number_in(value)
    is_member = isinstance(value, Opaque) and len(value.arguments) == 1 and value.state is None and not value.items
    return value.arguments[0] if is_member and isinstance(value.arguments[0], str | int | float) else value


def _number_in(value: "Tensor | ArrayValue") -> Any:
    try:
        return value.array().item() if value.size == 1 else value
    except UnreadablePickle:
        return value


class Blob(Struct, frozen=True):
    """A long text, or bytes, that is read when asked for."""

    read: Read
    start: int
    length: int
    encoding: str = ""
    """Empty for bytes."""
    recoded: str = ""
    """For a text that stands for bytes: how to turn it into them."""

    def value(self) -> Any:
        """Return the text or the bytes. Raises `UnreadablePickle`."""
        data = self.read(self.start, self.length)
        if len(data) < self.length:
            raise UnreadablePickle("it ends in the middle of a text")
        if not self.encoding:
            return data
        found = data.decode(self.encoding, "surrogatepass")
        return found.encode(self.recoded) if self.recoded else found

    def __eq__(self, other: object) -> bool:
        return bool(self.value() == (other.value() if isinstance(other, Blob) else other))

    def __hash__(self) -> int:
        return hash((self.start, self.length))


class NumberList(Sequence[Any]):
    """A list of numbers: the places of its runs, and values that follow one by one."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._pieces: list[tuple[int, int] | list[Any]] = []
        self._count: int | None = None

    def add_run(self, start: int, length: int) -> None:
        """Append a run, at that place in the pickle, without its mark and its end."""
        self._pieces.append((start, length))
        self._count = None

    def extend(self, items: Sequence[Any]) -> None:
        """Append values."""
        self._count = None
        if not self._pieces or isinstance(self._pieces[-1], tuple):
            self._pieces.append([])
        last = self._pieces[-1]
        assert isinstance(last, list)
        last.extend(items)

    def _run(self, piece: tuple[int, int]) -> bytes:
        data = self._read(*piece)
        if len(data) < piece[1]:
            raise UnreadablePickle("it ends in the middle of a list")
        return data

    def array(self) -> NDArray[Any] | None:
        """Return the numbers as an array, shape (T,), int64 if all are integers; None if the list holds others.

        Raises `UnreadablePickle`.
        """
        if any(isinstance(piece, list) for piece in self._pieces):
            return None
        runs = [values_of(self._run(piece)) for piece in self._pieces if isinstance(piece, tuple)]
        return np.concatenate(runs) if runs else None

    def values(self) -> list[Any]:
        """Return the list. Raises `UnreadablePickle`."""
        found: list[Any] = []
        for piece in self._pieces:
            found += piece if isinstance(piece, list) else values_of(self._run(piece)).tolist()
        return found

    def __len__(self) -> int:
        if self._count is None:
            counts = (len(one) if isinstance(one, list) else count_of(self._run(one)) for one in self._pieces)
            self._count = sum(counts)
        return self._count

    def __getitem__(self, index: Any) -> Any:
        return self.values()[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values())

    def __eq__(self, other: object) -> bool:
        return self.values() == (other.values() if isinstance(other, NumberList) else other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self.values())


class StorageRef(Struct, frozen=True):
    """The values of tensors: `read` returns bytes of them."""

    read: Read
    size_bytes: int
    kind: str
    """The type of its values, such as `float32`."""
    order: Order = "<"
    """The order of their bytes, as NumPy writes it."""


class Tensor(Struct, frozen=True, eq=False):
    """A tensor: a view of a storage, which is read when asked for. Offset and strides count values."""

    storage: StorageRef
    kind: str
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def size(self) -> int:
        """The number of values."""
        return count_in(self.shape)

    def array(self) -> NDArray[Any]:
        """Return the values; those of narrow float types, which NumPy lacks, as float32. Raises `UnreadablePickle`."""
        from rolloupe.formats.reading.pickles.tensor_types import read_view

        return read_view(self)


class NumpyType(Struct, eq=False):
    """A type of NumPy: its text without the order of bytes, which is empty if the type is an unusual one."""

    text: str
    order: str = "<"


class ArrayValue(Struct, eq=False):
    """A NumPy array, whose bytes are decoded when asked for. A pickle describes it in two steps."""

    shape: tuple[int, ...] = (0,)
    type_text: str = ""
    """The NumPy name of its type; empty as long as the second step has not come."""
    is_fortran: bool = False
    data: Any = b""
    state: Any = None
    """What the second step says of an array of other things than plain numbers and texts."""

    @property
    def size(self) -> int:
        """The number of values."""
        return count_in(self.shape)

    def array(self) -> NDArray[Any]:
        """Return the values. Raises `UnreadablePickle`."""
        data = self.data.value() if isinstance(self.data, Blob) else self.data
        data = data.encode("latin-1") if isinstance(data, str) else data
        try:
            flat = np.frombuffer(data, np.dtype(self.type_text), self.size)
            return flat.reshape(self.shape, order="F" if self.is_fortran else "C")
        except (TypeError, ValueError, OverflowError) as error:
            raise UnreadablePickle(f"an array that cannot be read: {error}") from None


def count_in(shape: Sequence[int]) -> int:
    """Return the number of values of a shape."""
    found = 1
    for length in shape:
        found *= length
    return found


def floats_of(value: Any) -> NDArray[np.float64] | None:
    """Return a list, tensor or array of numbers as float64, shape (T,); None for anything else.

    Raises `UnreadablePickle`.
    """
    if isinstance(value, NumberList):
        array = value.array()
        value = value.values() if array is None else array
    elif isinstance(value, Tensor | ArrayValue):
        value = value.array()
    elif not isinstance(value, list | tuple):
        return None
    if not isinstance(value, np.ndarray):
        numbers = [float(one) if isinstance(one, int | float) and abs(one) < 2**1000 else np.nan for one in value]
        return np.array(numbers, dtype=np.float64)
    if value.ndim == 0 or value.dtype.kind not in "biuf":
        return None
    return value.reshape(-1).astype(np.float64) if value.size == len(value) else None
