"""What the calls in a pickle mean, for the few names whose meaning is known. Nothing here calls what a pickle names.

A constructor gets the arguments of a call and returns plain data or one of our own values. Whatever is odd about the
arguments raises `TypeError` or `ValueError`: the call then becomes a marker.
"""

import re
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeVar

import numpy as np

from rolloupe.formats.reading.pickles.values import (
    STORAGES,
    STORED_AS,
    ArrayValue,
    Blob,
    Name,
    NumberList,
    NumpyType,
    Opaque,
    StorageRef,
    Tensor,
    UnreadablePickle,
)

MAX_DIMENSIONS = 32
MAX_KEY_PARTS = 64
MAX_SECONDS_OF_KEYS = 10.0
FREE_KEYS = 256
PLAIN_TYPE = re.compile(r"[biufc][0-9]{1,2}|[SU][0-9]{1,5}")

T = TypeVar("T")
Constructor = Callable[..., Any]


def call(callee: Any, arguments: Any) -> Any:
    """Return what a call means: plain data for a known name, a marker for every other."""
    given = tuple(arguments) if isinstance(arguments, tuple | list | NumberList) else (arguments,)
    name = callee.name if isinstance(callee, Name) else f"a call of {type(callee).__name__}"
    if (make := CONSTRUCTORS.get(name)) is not None:
        try:
            return make(*given)
        except (TypeError, ValueError, LookupError, OverflowError, UnicodeError):
            pass
    return Opaque(name, given)


def as_key(value: Any) -> Any:
    """Return a value that can be a key or a member of a set: a simple one as it is, any other behind a marker.

    Hashing what a hostile pickle nests could take for ever, or end the process.
    """
    if value is None or isinstance(value, str | bytes | int | float | Name):
        return value
    parts = value if isinstance(value, tuple) and len(value) <= MAX_KEY_PARTS else (value,)
    is_flat = all(part is None or isinstance(part, str | bytes | int | float | Name) for part in parts)
    return value if is_flat else Opaque("key", (value,))


def paced(items: Iterable[T]) -> Iterator[T]:
    """Yield keys or members for a dict or a set, as long as putting them there does not take very long.

    They may be chosen so that each takes longer than the one before. Raises `UnreadablePickle`.
    """
    ends_s = time.monotonic() + MAX_SECONDS_OF_KEYS
    for number, item in enumerate(items):
        if not number % FREE_KEYS and time.monotonic() > ends_s:
            raise UnreadablePickle("its keys take very long to tell apart: not read")
        yield item


def _dict(pairs: Any = ()) -> dict[Any, Any]:
    if isinstance(pairs, dict):
        return dict(pairs)
    return {as_key(key): value for key, value in paced(_iterable(pairs))}


def _list(values: Any = ()) -> list[Any]:
    return list(_iterable(values))


def _tuple(values: Any = ()) -> tuple[Any, ...]:
    return tuple(_iterable(values))


def _set(values: Any = ()) -> set[Any]:
    return {as_key(item) for item in paced(_iterable(values))}


def _frozenset(values: Any = ()) -> frozenset[Any]:
    return frozenset(_set(values))


def _iterable(values: Any) -> Any:
    if isinstance(values, list | tuple | set | frozenset | NumberList):
        return values
    raise TypeError


def _bytearray(data: Any = b"", encoding: str = "latin-1") -> bytearray:
    if not isinstance(data, str | bytes):
        raise TypeError
    return bytearray(_latin(data, encoding) if isinstance(data, str) else data)


def _encode(text: Any, encoding: str = "latin-1") -> Any:
    """Bytes in the older protocols: a text of 256 letters."""
    if isinstance(text, Blob) and not text.recoded and encoding in ("latin-1", "latin1"):
        return Blob(text.read, text.start, text.length, text.encoding, "latin-1")
    return _latin(text, encoding)


def _latin(text: Any, encoding: Any) -> bytes:
    if not isinstance(text, str) or encoding not in ("latin-1", "latin1", "ascii", "utf-8", "utf8"):
        raise TypeError
    return text.encode(encoding)


def _complex(real: Any, imaginary: Any = 0.0) -> complex:
    if not (isinstance(real, float | int) and isinstance(imaginary, float | int)):
        raise TypeError
    return complex(real, imaginary)


def _text_of_one(value: Any, index: Any = None) -> str:
    """A device: `cuda` with its number."""
    if not isinstance(value, str) or type(index) not in (int, type(None)):
        raise TypeError
    return value if index is None else f"{value}:{index}"


def _attribute(owner: Any, attribute: Any) -> Name:
    """A nested name in the older protocols."""
    if not (isinstance(owner, Name) and isinstance(attribute, str)):
        raise TypeError
    return Name(f"{owner.name}.{attribute}")


def _reconstructed(kind: Any, _: Any, value: Any) -> Opaque:
    """An object in the older protocols; `value` is what it holds if its class is a list, a dict, a text, ..."""
    if not isinstance(kind, Name):
        raise TypeError
    return Opaque(kind.name, () if value is None else (value,))


def _tensor(storage: Any, offset: Any, shape: Any, strides: Any, *more: Any, kind: str = "") -> Tensor:
    """`more`: whether it needs a gradient, hooks, and metadata such as a conjugate bit, which nobody reads."""
    if not isinstance(storage, StorageRef) or (len(more) > 2 and more[2]):
        raise TypeError
    shape, strides = _lengths(shape), _lengths(strides)
    if len(shape) != len(strides) or len(shape) > MAX_DIMENSIONS or type(offset) is not int or offset < 0:
        raise TypeError
    return Tensor(storage, kind or storage.kind, offset, shape, strides)


def _tensor_with_type(storage: Any, offset: Any, shape: Any, strides: Any, *more: Any) -> Tensor:
    """The newer types: a storage of bytes, and the type beside it."""
    kind = more[2].name.removeprefix("torch.") if len(more) > 2 and isinstance(more[2], Name) else ""
    if kind not in STORED_AS:
        raise TypeError
    return _tensor(storage, offset, shape, strides, *more[:2], *more[3:], kind=kind)


def _lengths(values: Any) -> tuple[int, ...]:
    found = tuple(values)
    if any(type(length) is not int or not 0 <= length < 2**40 for length in found):
        raise TypeError
    return found


def _parameter(data: Any, *_: Any) -> Any:
    if not isinstance(data, Tensor):
        raise TypeError
    return data


def _subclass(make: Any, _: Any, arguments: Any, *more: Any) -> Tensor:
    """A tensor with attributes of its own, or of a class of its own."""
    if not isinstance(make, Name) or make.name not in TENSORS or any(more):
        raise TypeError
    return TENSORS[make.name](*arguments)


def _numpy_type(text: Any, *_: Any) -> NumpyType:
    """A NumPy type; a later step may give its order of bytes. Only types of plain numbers and texts are known."""
    if not isinstance(text, str) or not PLAIN_TYPE.fullmatch(text):
        raise TypeError
    return NumpyType(np.dtype(text).newbyteorder("=").str.lstrip("<>=|"))


def _text_of(kind: Any) -> str:
    """NumPy's text of a type. Raises TypeError for anything else."""
    if not isinstance(kind, NumpyType) or not kind.order:
        raise TypeError
    return f"{kind.order}{kind.text}"


def _numpy_array(*_: Any) -> ArrayValue:
    return ArrayValue()


def _numpy_buffer(data: Any, kind: Any, shape: Any, order: Any) -> ArrayValue:
    """An array in protocol 5."""
    if not isinstance(data, bytes | bytearray | Blob):
        raise TypeError
    return ArrayValue(_lengths(shape), _text_of(kind), order == "F", data)


def _numpy_scalar(kind: Any, data: Any) -> Any:
    if isinstance(data, str):
        data = data.encode("latin-1")
    return np.frombuffer(data, np.dtype(_text_of(kind)), 1)[0].item()


OF_PYTHON: Final[dict[str, Constructor]] = {
    "list": _list, "tuple": _tuple, "set": _set, "frozenset": _frozenset, "bytearray": _bytearray,
    "complex": _complex, "getattr": _attribute, "bytes": lambda: b"",
}  # fmt: skip

OF_NUMPY: Final[dict[str, Constructor]] = {
    "multiarray._reconstruct": _numpy_array, "multiarray.scalar": _numpy_scalar, "numeric._frombuffer": _numpy_buffer,
}  # fmt: skip

TENSORS: Final[dict[str, Callable[..., Tensor]]] = {
    "torch._utils._rebuild_tensor": _tensor,
    "torch._utils._rebuild_tensor_v2": _tensor,
    "torch._utils._rebuild_tensor_v3": _tensor_with_type,
}

CONSTRUCTORS: Final[dict[str, Constructor]] = {
    **dict.fromkeys(("collections.OrderedDict", "builtins.dict", "__builtin__.dict"), _dict),
    "collections.defaultdict": lambda _=None, pairs=(): _dict(pairs),
    "collections.Counter": _dict,
    **{f"{module}.{name}": make for module in ("builtins", "__builtin__") for name, make in OF_PYTHON.items()},
    "_codecs.encode": _encode,
    **dict.fromkeys(("copyreg._reconstructor", "copy_reg._reconstructor"), _reconstructed),
    "torch.Size": _tuple,
    "torch.device": _text_of_one,
    **TENSORS,
    **dict.fromkeys(("torch._utils._rebuild_parameter", "torch._utils._rebuild_parameter_with_state"), _parameter),
    "torch._tensor._rebuild_from_type_v2": _subclass,
    "numpy.dtype": _numpy_type,
    **{f"numpy.{core}.{name}": make for core in ("core", "_core") for name, make in OF_NUMPY.items()},
}  # fmt: skip


def storage_type(value: Any) -> str:
    """Return the type of the values of a storage, by the name of its class. Raises TypeError."""
    name = value.name.rpartition(".")[2] if isinstance(value, Name) else ""
    if name not in STORAGES:
        raise TypeError
    return STORAGES[name]


def fill(target: Any, state: Any) -> None:
    """Give a value its state, which its class would have set: of known values, only arrays and types have one.

    A marker keeps the state. The attributes of an `OrderedDict` or a tensor, of which PyTorch adds some, are left out.
    """
    if isinstance(target, ArrayValue):
        _fill_array(target, state)
    elif isinstance(target, NumpyType):
        target.order = _order_of(state)
    elif isinstance(target, Opaque):
        target.state = state


def _fill_array(array: ArrayValue, state: Any) -> None:
    """Give an array its shape, type and bytes; one of other things, such as objects, keeps its state as it is."""
    try:
        _, shape, kind, is_fortran, data = state
        lengths, type_text = _lengths(shape), _text_of(kind)
    except (TypeError, ValueError):
        data = None
    if isinstance(data, bytes | str | Blob):
        array.shape, array.type_text, array.is_fortran, array.data = lengths, type_text, bool(is_fortran), data
    else:
        array.state = state


def _order_of(state: Any) -> str:
    """The order of bytes that a state of a NumPy type gives; empty if the state says more than that."""
    if isinstance(state, tuple) and len(state) > 4 and state[1] in ("<", ">", "|", "=") and state[2:5] == (None,) * 3:
        return "<" if state[1] in "|=" else str(state[1])
    return ""
