"""The values of calls in a pickle, for a few known names. No function that a pickle names is ever called.

A call becomes plain data or one of `values`; with odd arguments, a marker.
"""

import contextlib
import re
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeVar

import numpy as np

from rolloupe.formats.reading.pickles import values

MAX_DIMENSIONS = 32
MAX_KEY_PARTS = 64
MAX_SECONDS_OF_KEYS = 10.0
FREE_KEYS = 256
PLAIN_TYPE = re.compile(r"[biufc][0-9]{1,2}|[SU][0-9]{1,5}")
MODULES = {
    "__builtin__": "builtins", "copy_reg": "copyreg", "numpy._core.multiarray": "numpy.core.multiarray",
    "numpy._core.numeric": "numpy.core.numeric",
}  # fmt: skip
"""Names of modules in older and newer versions, and the usual name of each."""
TENSORS = [f"torch._utils._rebuild_tensor{version}" for version in ("", "_v2", "_v3")]
T = TypeVar("T")


def call(callee: Any, arguments: Any) -> Any:
    """Return the value of a call: plain data for a known name, a marker for any other."""
    given = tuple(arguments) if isinstance(arguments, (tuple, list, values.NumberList)) else (arguments,)
    name = callee.name if isinstance(callee, values.Name) else f"a call of {type(callee).__name__}"
    module, _, attribute = name.rpartition(".")
    with contextlib.suppress(TypeError, ValueError, LookupError, OverflowError, UnicodeError):
        return _constructed(f"{MODULES.get(module, module)}.{attribute}", given)
    return values.Opaque(name, given)


def as_key(value: Any) -> Any:
    """Return a value that can be a key or a member of a set: a simple value unchanged, any other within a marker.

    Hashing the nested values of a hostile pickle could take for ever, or end the process.
    """
    if value is None or isinstance(value, str | bytes | int | float | values.Name):
        return value
    parts = value if isinstance(value, tuple) and len(value) <= MAX_KEY_PARTS else (value,)
    is_flat = all(part is None or isinstance(part, str | bytes | int | float | values.Name) for part in parts)
    return value if is_flat else values.Opaque("key", (value,))


def paced(items: Iterable[T]) -> Iterator[T]:
    """Yield keys for a dict or members for a set. Raises `UnreadablePickle` if inserting them takes very long.

    Their hashes may collide, so that each takes longer than the last.
    """
    ends_s = time.monotonic() + MAX_SECONDS_OF_KEYS
    for number, item in enumerate(items):
        if not number % FREE_KEYS and time.monotonic() > ends_s:
            raise values.UnreadablePickle("its keys take very long to tell apart: not read")
        yield item


def _constructed(name: str, given: tuple[Any, ...]) -> Any:
    """Return the value of a call of a known name. Raises LookupError for any other name, or for odd arguments."""
    match name, given:
        case "builtins.list", (items,):
            return list(_iterable(items))
        case "builtins.tuple" | "torch.Size", (items,):
            return tuple(_iterable(items))
        case "builtins.set", (items,):
            return _set(items)
        case "builtins.frozenset", (items,):
            return frozenset(_set(items))
        case "collections.OrderedDict" | "collections.Counter" | "builtins.dict", (pairs,):
            return _dict(pairs)
        case "collections.defaultdict", (_, *pairs) if len(pairs) < 2:
            return _dict(*pairs or ((),))
        case "builtins.bytearray", (bytes(data), *encoding) if len(encoding) < 2:
            return bytearray(data)
        case "builtins.bytearray", (str(text), *encoding) if len(encoding) < 2:
            return bytearray(_latin(text, *encoding))
        case "_codecs.encode", (values.Blob(recoded="") as blob, *encoding) if _is_short(encoding, "latin-1", "latin1"):
            return values.Blob(blob.read, blob.start, blob.length, blob.encoding, "latin-1")
        case "_codecs.encode", (str(text), *encoding) if len(encoding) < 2:  # bytes in the older protocols
            return _latin(text, *encoding)
        case "builtins.complex", (float() | int() as real, float() | int() as imaginary):
            return complex(real, imaginary)
        case "builtins.getattr", (values.Name(name=owner), str(attribute)):  # a nested name in the older protocols
            return values.Name(f"{owner}.{attribute}")
        case "torch.device", (str(device), *number) if _is_short(number, None):
            return device
        case "torch.device", (str(device), int(number)):
            return f"{device}:{number}"
        case "torch._utils._rebuild_parameter" | "torch._utils._rebuild_parameter_with_state", (
            values.Tensor() as tensor,
            *_,
        ):
            return tensor
        case "torch._tensor._rebuild_from_type_v2", (values.Name(name=make), _, arguments, *more) if not any(more):
            return _tensor(make, *arguments)  # with attributes, or of a subclass
        case "numpy.dtype", (str(text), *_) if PLAIN_TYPE.fullmatch(text):  # a later step may give its byte order
            return values.NumpyType(np.dtype(text).newbyteorder("=").str.lstrip("<>=|"))
        case "numpy.core.multiarray._reconstruct", _:
            return values.ArrayValue()
        case "numpy.core.multiarray.scalar", (kind, data):
            data = data.encode("latin-1") if isinstance(data, str) else data
            return np.frombuffer(data, np.dtype(_text_of(kind)), 1)[0].item()
        case "numpy.core.numeric._frombuffer", (bytes() | bytearray() | values.Blob() as data, kind, shape, order):
            return values.ArrayValue(_lengths(shape), _text_of(kind), order == "F", data)
        case name, () if name in EMPTY:
            return EMPTY[name]()
    return _tensor(name, *given)


EMPTY: Final[dict[str, Callable[[], Any]]] = {
    **{f"builtins.{kind.__name__}": kind for kind in (list, tuple, set, frozenset, dict, bytes, bytearray)},
    **dict.fromkeys(("collections.OrderedDict", "collections.Counter", "collections.defaultdict"), dict),
    "torch.Size": tuple,
}
"""The types of values of calls without arguments."""


def _is_short(given: list[object], *known: str | None) -> bool:
    """Return whether `given` is empty, or one of the known words. Never compares a text that is still in the file."""
    return not given or (len(given) == 1 and isinstance(given[0], str | None) and given[0] in known)


def _iterable(given: Any) -> Any:
    if not isinstance(given, (list, tuple, set, frozenset, values.NumberList)):
        raise TypeError
    return given


def _dict(pairs: Any) -> dict[Any, Any]:
    if isinstance(pairs, dict):
        return dict(pairs)
    return {as_key(key): value for key, value in paced(_iterable(pairs))}


def _set(items: Any) -> set[Any]:
    return {as_key(item) for item in paced(_iterable(items))}


def _latin(text: str, encoding: Any = "latin-1") -> bytes:
    if encoding not in ("latin-1", "latin1", "ascii", "utf-8", "utf8"):
        raise TypeError
    return text.encode(encoding)


def _tensor(make: str, storage: Any, offset: Any, shape: Any, strides: Any, *more: Any) -> values.Tensor:
    """Return a tensor; in the newest form its storage holds bytes, and its type is an argument.

    `more` has a flag for gradients, hooks, the type, and metadata such as a conjugate bit, which nobody reads.
    """
    if make not in TENSORS or not isinstance(storage, values.StorageRef):
        raise LookupError
    kind = storage.kind
    if make == TENSORS[-1]:
        kind = more[2].name.removeprefix("torch.") if len(more) > 2 and isinstance(more[2], values.Name) else ""
        more = (*more[:2], *more[3:])
    shape, strides = _lengths(shape), _lengths(strides)
    is_view = len(shape) == len(strides) <= MAX_DIMENSIONS and type(offset) is int and offset >= 0
    if kind not in values.STORED_AS or (len(more) > 2 and more[2]) or not is_view:
        raise TypeError
    return values.Tensor(storage, kind, offset, shape, strides)


def _lengths(given: Any) -> tuple[int, ...]:
    lengths = tuple(given)
    if not all(type(length) is int and 0 <= length < 2**40 for length in lengths):
        raise TypeError
    return lengths


def _text_of(kind: Any) -> str:
    """Return NumPy's text of a type. Raises TypeError for anything else."""
    if not isinstance(kind, values.NumpyType) or not kind.order:
        raise TypeError
    return f"{kind.order}{kind.text}"


def storage_type(value: Any) -> str:
    """Return the type of the values of a storage, by the name of its class. Raises TypeError."""
    name = value.name.rpartition(".")[2] if isinstance(value, values.Name) else ""
    if name not in values.STORAGES:
        raise TypeError
    return values.STORAGES[name]


def fill(target: Any, state: Any) -> None:
    """Give a value the state that its class would have set; among known values, only arrays and types have a state.

    A marker keeps the state. The attributes that PyTorch adds to an `OrderedDict` or a tensor are left out.
    """
    if isinstance(target, values.NumpyType):  # its byte order; empty if the state holds more
        is_order = isinstance(state, tuple) and len(state) > 4 and state[2:5] == (None,) * 3
        orders = {"<": "<", ">": ">", "|": "<", "=": "<"}
        target.order = orders.get(state[1], "") if is_order and isinstance(state[1], str) else ""
    elif isinstance(target, values.Opaque):
        target.state = state
    elif isinstance(target, values.ArrayValue):
        try:
            _, shape, kind, is_fortran, data = state
            lengths, type_text = _lengths(shape), _text_of(kind)
        except (TypeError, ValueError):
            lengths, type_text, is_fortran, data = (), "", False, None
        if isinstance(data, bytes | str | values.Blob):
            target.shape, target.type_text, target.is_fortran, target.data = lengths, type_text, bool(is_fortran), data
        else:  # an array of other values, such as objects
            target.state = state
