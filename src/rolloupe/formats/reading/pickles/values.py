"""The values that a pickle describes beyond plain ones, read on demand from the bytes of the pickle.

They are names, markers, long texts, lists of numbers, tensors and arrays. A pickle writes a list of numbers as a run: a
mark, an opcode and bytes for each number, and `e`. A regular expression finds the end of a run, and NumPy decodes
it. Such lists make up most of a dump. NumPy lacks three kinds of floats, which become float32 without a loss.
"""

import contextlib
import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

WINDOW_BYTES = 2**20
MAX_LINE_BYTES = 2**16
"""The longest argument of an opcode of text, such as a name."""
Read = Callable[[int, int], bytes]
"""Returns bytes, by place and count; fewer at the end. Raises `UnreadablePickle`."""


class UnreadablePickle(Exception):
    """Raised for a pickle that is damaged, too large, or of a kind that is not read; its text is the reason."""


class Window:
    """A place in a pickle of `size` bytes, and the bytes around it."""

    def __init__(self, read: Read, size: int) -> None:
        self.read = read
        self.size = size
        self.data = b""
        self.base = 0
        """The place in the pickle at which `data` begins."""
        self.at = 0
        """The place in `data`."""

    @classmethod
    def of(cls, data: bytes) -> "Window":
        """Return a window over bytes in memory."""
        return cls(lambda start, count: data[start : start + count], len(data))

    @property
    def place(self) -> int:
        """The place in the pickle."""
        return self.base + self.at

    def look(self, count: int) -> None:
        """Read until `data` has this many bytes from the place on, or fewer at the end."""
        if len(self.data) - self.at >= count or (self.data and self.base + len(self.data) >= self.size):
            return
        self.base += self.at
        wanted = min(max(count, WINDOW_BYTES), self.size - self.base)
        self.data, self.at = self.read(self.base, wanted) if wanted > 0 else b"", 0

    def byte(self) -> int:
        """Return the next byte. Raises `UnreadablePickle` at the end."""
        if self.at >= len(self.data):
            return self.take(1)[0]
        self.at += 1
        return self.data[self.at - 1]

    def take(self, count: int) -> bytes:
        """Return the next bytes. Raises `UnreadablePickle` if there are fewer."""
        if not 0 <= count <= self.size - self.place:
            raise UnreadablePickle(f"it ends at byte {self.size:,}, in the middle of a value")
        self.look(count)
        data = self.data[self.at : self.at + count]
        if len(data) < count:
            raise UnreadablePickle(f"it ends at byte {self.place + len(data):,}, in the middle of a value")
        self.at += count
        return data

    def skip(self, count: int) -> int:
        """Pass over some bytes, and return where they began. Raises `UnreadablePickle` if there are fewer."""
        start = self.place
        if not 0 <= count <= self.size - start:
            raise UnreadablePickle(f"it ends at byte {self.size:,}, in the middle of a value")
        self.at += count
        return start

    def line(self) -> bytes:
        """Return the bytes up to the next newline, without it. Raises `UnreadablePickle` for a very long line."""
        self.look(MAX_LINE_BYTES)
        stop = self.data.find(b"\n", self.at, self.at + MAX_LINE_BYTES)
        if stop < 0:
            raise UnreadablePickle(f"a line at byte {self.place:,} has no end")
        line = self.data[self.at : stop]
        self.at = stop + 1
        return line


MAX_RUN_BYTES = 2**14
"""Python's own writers put 1,000 numbers of at most 9 bytes into a run."""
_RUN = rb"\((?:(?:K.|M..|J.{4})++|(?:G.{8})++)e"
RUN = re.compile(_RUN, re.DOTALL)
"""A run: a mark, only small integers or only floats, and `e`."""
LIST_OF_NUMBERS = re.compile(rb"(?:q.|r.{4}|\x94)?" + _RUN, re.DOTALL)
"""The bytes after an empty list that receives numbers: perhaps an opcode for the memo, then a run."""
_FLOAT = ord("G")
_FLOATS = np.dtype([("opcode", "u1"), ("value", ">f8")])
_WIDTHS = {ord("K"): 2, ord("M"): 3, ord("J"): 5}
_INTEGER = re.compile(rb"K.|M..|J....", re.DOTALL)


def values_of(run: bytes) -> NDArray[np.int64] | NDArray[np.float64]:
    """Decode a run without its mark and its end: integers as int64, floats as float64, shape (T,)."""
    codes = np.frombuffer(run, np.uint8)
    if codes[0] == _FLOAT:
        return np.frombuffer(run, _FLOATS)["value"].astype(np.float64)
    widths = _widths(run)
    starts = np.cumsum(widths) - widths
    padded = np.concatenate((codes, np.zeros(4, np.uint8))).astype(np.int64)
    values: NDArray[np.int64] = padded[starts + 1]
    values += (padded[starts + 2] << 8) * (widths > 2)
    high = padded[starts + 4]
    values += ((padded[starts + 3] << 16) + ((high - ((high & 128) << 1)) << 24)) * (widths > 3)
    return values


def count_of(run: bytes) -> int:
    """Return the number of values in a run without its mark and its end."""
    return len(run) // 9 if run[0] == _FLOAT else len(_widths(run))


def _widths(run: bytes) -> NDArray[np.int64]:
    """Return the width of each value in a run of integers, whose bytes may themselves look like opcodes."""
    codes, width = np.frombuffer(run, np.uint8), _WIDTHS[run[0]]
    if len(run) % width == 0 and (codes[::width] == run[0]).all():
        return np.full(len(run) // width, width)
    return np.fromiter(map(len, _INTEGER.findall(run)), np.int64)


Order = Literal["<", ">"]
MAX_VALUES = 2**21
"""The largest tensor that is read: a view may repeat values of its storage, and no sample has more tokens."""


class Name(Struct, frozen=True):
    """A name of a module's member, which is never imported."""

    name: str

    def __str__(self) -> str:
        return self.name


class Opaque(Struct, eq=False):
    """A marker for an object of an unknown class, or for a call that was not made.

    `arguments` are those of the call; `state` and `items` are the contents of the object.
    """

    name: str
    arguments: tuple[Any, ...] = ()
    state: Any = None
    items: list[Any] = []

    def extend(self, items: Sequence[Any]) -> None:
        """Note the items of a list-like object, or the pairs of a dict-like one."""
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
        with contextlib.suppress(UnreadablePickle):
            return value.array().item() if value.size == 1 else value
        return value
    is_member = isinstance(value, Opaque) and len(value.arguments) == 1 and value.state is None and not value.items
    return value.arguments[0] if is_member and isinstance(value.arguments[0], str | int | float) else value


class Blob(Struct, frozen=True):
    """A long text, or bytes, read on demand."""

    read: Read
    start: int
    length: int
    encoding: str = ""
    """Empty for bytes."""
    recoded: str = ""
    """The encoding that turns a text back into the bytes that it represents."""

    def value(self) -> Any:
        """Return the text or the bytes. Raises `UnreadablePickle`."""
        data = self.read(self.start, self.length)
        if len(data) < self.length:
            raise UnreadablePickle("it ends in the middle of a text")
        if not self.encoding:
            return data
        text = data.decode(self.encoding, "surrogatepass")
        return text.encode(self.recoded) if self.recoded else text

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
        numbers: list[Any] = []
        for piece in self._pieces:
            numbers += piece if isinstance(piece, list) else values_of(self._run(piece)).tolist()
        return numbers

    def __len__(self) -> int:
        if self._count is None:
            counts = (len(piece) if isinstance(piece, list) else count_of(self._run(piece)) for piece in self._pieces)
            self._count = sum(counts)
        return self._count

    def __getitem__(self, index: Any) -> Any:
        return self.values()[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values())

    def __eq__(self, other: object) -> bool:
        return self.values() == (other.values() if isinstance(other, NumberList) else other)

    __hash__ = None  # type: ignore[pyrefly:implicit-any-attribute]


class StorageRef(Struct, frozen=True):
    """The values of tensors; `read` returns some of their bytes."""

    read: Read
    size_bytes: int
    kind: str
    """The type of its values, such as `float32`."""
    order: Order = "<"
    """Their byte order, as NumPy writes it."""


class Tensor(Struct, frozen=True, eq=False):
    """A tensor: a view of a storage, read on demand. Offset and strides count values."""

    storage: StorageRef
    kind: str
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def array(self) -> NDArray[Any]:
        """Return the values; float types that NumPy lacks become float32. Raises `UnreadablePickle`."""
        if self.size > MAX_VALUES:
            raise UnreadablePickle(f"a tensor of {self.size:,} values: not read")
        native = np.dtype(STORED_AS[self.kind])
        width = native.itemsize
        last = sum((length - 1) * stride for length, stride in zip(self.shape, self.strides, strict=True))
        count = last + 1 if self.size else 0
        start = self.offset * width
        if start + count * width > self.storage.size_bytes or min((*self.strides, self.offset)) < 0:
            raise UnreadablePickle("a tensor reaches beyond its storage")
        data = self.storage.read(start, count * width) if count else b""
        if len(data) < count * width:
            raise UnreadablePickle("the file ends in the middle of a tensor")
        flat = np.frombuffer(data, native.newbyteorder(self.storage.order)).astype(native, copy=False)
        steps = [stride * width for stride in self.strides]
        try:
            view = np.lib.stride_tricks.as_strided(flat, self.shape, steps, writeable=False) if self.size else flat
            if self.kind == "bfloat16":
                return (view.reshape(self.shape).astype(np.uint32) << 16).view(np.float32)
            return view.reshape(self.shape).copy()
        except (ValueError, OverflowError) as error:
            raise UnreadablePickle(f"a tensor that NumPy cannot hold: {error}") from None


class NumpyType(Struct, eq=False):
    """A type of NumPy: its text and its byte order, which is empty for an unusual type."""

    text: str
    order: str = "<"


class ArrayValue(Struct, eq=False):
    """A NumPy array, decoded on demand. A pickle describes it in two steps."""

    shape: tuple[int, ...] = (0,)
    type_text: str = ""
    """The NumPy name of its type; empty before the second step."""
    is_fortran: bool = False
    data: Any = b""
    state: Any = None
    """The second step of an array that holds neither plain numbers nor texts."""

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def array(self) -> NDArray[Any]:
        """Return the values. Raises `UnreadablePickle`."""
        data = self.data.value() if isinstance(self.data, Blob) else self.data
        data = data.encode("latin-1") if isinstance(data, str) else data
        try:
            flat = np.frombuffer(data, np.dtype(self.type_text), self.size)
            return flat.reshape(self.shape, order="F" if self.is_fortran else "C")
        except (TypeError, ValueError, OverflowError) as error:
            raise UnreadablePickle(f"an array that cannot be read: {error}") from None


def floats_of(value: Any) -> NDArray[np.float64] | None:
    """Return a list, tensor or array of numbers as float64, shape (T,); None for anything else.

    Raises `UnreadablePickle`.
    """
    if isinstance(value, NumberList):
        array = value.array()
        value = value.values() if array is None else array
    elif isinstance(value, Tensor | ArrayValue):
        value = value.array()
    elif not isinstance(value, (list, tuple)):
        return None
    if not isinstance(value, np.ndarray):
        numbers = [float(item) if isinstance(item, int | float) and abs(item) < 2**1000 else np.nan for item in value]
        return np.array(numbers, dtype=np.float64)
    if value.ndim == 0 or value.dtype.kind not in "biuf":
        return None
    return value.reshape(-1).astype(np.float64) if value.size == len(value) else None


STORAGES: Final = {
    "FloatStorage": "float32", "DoubleStorage": "float64", "HalfStorage": "float16", "BFloat16Storage": "bfloat16",
    "LongStorage": "int64", "IntStorage": "int32", "ShortStorage": "int16", "CharStorage": "int8",
    "ByteStorage": "uint8", "BoolStorage": "bool", "ComplexFloatStorage": "complex64",
    "ComplexDoubleStorage": "complex128", "UntypedStorage": "uint8",
}  # fmt: skip
"""PyTorch's classes of storages, with the type of their values."""
STORED_AS: Final = {
    **{kind: kind for kind in ("float32", "float64", "float16", "complex64", "complex128", "bool")},
    **{f"{sign}int{bits}": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "bfloat16": "uint16",
}  # fmt: skip
"""Types of tensors, with the NumPy type of the same layout."""


def width_of(kind: str) -> int:
    """Return the size of a value of a type, in bytes."""
    return np.dtype(STORED_AS[kind]).itemsize
