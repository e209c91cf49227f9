"""Pickles interpreted in memory, and files laid out as PyTorch lays them out, without PyTorch."""

import pickle  # noqa: TID251 - writes what the reader is to read
import struct
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rolloupe.formats.reading.pickles.machine import interpret
from rolloupe.formats.reading.pickles.torch_files import TorchFile, torch_file
from rolloupe.formats.reading.pickles.values import UnreadablePickle, Window
from rolloupe.model import Location

EVENTS = (
    "import", "exec", "compile", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.remove",
    "os.rename", "os.putenv", "os.mkdir", "subprocess.", "socket.", "pickle.", "ctypes.", "shutil.", "marshal.",
    "code.__new__", "_thread.start_new_thread",
)  # fmt: skip
"""Beginnings of the names of audit events that mean that something ran or was loaded. Nothing here may cause any."""

_seen: list[str] | None = None
_thread = 0
_is_hooked = False


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _seen is not None and event.startswith(EVENTS) and threading.get_ident() == _thread:
        _seen.append(f"{event} {arguments!r:.80}")


@contextmanager
def nothing_runs() -> Iterator[None]:
    """Fail if this thread, which may start no other, imports, compiles, executes or starts anything within."""
    global _seen, _thread, _is_hooked  # noqa: PLW0603 - an audit hook stays for ever, so there is one
    if not _is_hooked:
        sys.addaudithook(_hook)
        _is_hooked = True
    _seen, _thread = [], threading.get_ident()
    try:
        yield
        events = _seen
    finally:
        _seen = None
    assert not events, events


def read(data: bytes) -> Any:
    """What a pickle describes."""
    return interpret(Window.of(data))


def outcome(data: bytes) -> Any:
    """What a pickle describes, or the reason why it cannot be read."""
    try:
        return read(data)
    except UnreadablePickle as error:
        return str(error)


def at(path: Path) -> TorchFile:
    """Read a `.pt` file."""
    return torch_file(Location(str(path), str(path)))


Storages = dict[str, bytes]


def archive(path: Path, data: bytes, storages: Storages, *, order: str = "little", method: int = 0) -> Path:
    """Write an archive as `torch.save` does."""
    with zipfile.ZipFile(path, "w", method) as file:
        file.writestr("archive/data.pkl", data)
        file.writestr("archive/byteorder", order)
        for name, values in storages.items():
            file.writestr(f"archive/data/{name}", values)
        file.writestr("archive/version", "3\n")
    return path


class Call:
    """Pickled as a call of a name with some arguments, and with a state if there is one."""

    def __init__(self, name: str, *arguments: Any, state: Any = None) -> None:
        self.name, self.arguments, self.state = name, arguments, state


class StorageKey:
    """Pickled as the persistent id of a storage."""

    def __init__(self, kind: str, name: str, count: int) -> None:
        self.kind, self.name, self.count = kind, name, count


class _Global:
    def __init__(self, name: str) -> None:
        self.name = name


_InPython: Any = pickle._Pickler


class _Pickler(_InPython):  # type: ignore[pyrefly:unknown-base-class] # the one in Python lets a subclass say how to save
    def persistent_id(self, value: Any) -> Any:
        if isinstance(value, StorageKey):
            return "storage", _Global(f"torch.{value.kind}"), value.name, "cpu", value.count
        return None

    def save(self, value: Any, save_persistent_id: bool = True) -> Any:
        if isinstance(value, _Global):
            module, _, name = value.name.rpartition(".")
            self.write(b"c" + f"{module}\n{name}\n".encode())
        elif isinstance(value, Call):
            self.save(_Global(value.name))
            self.save(value.arguments)
            self.write(b"R")
            if value.state is not None:
                self.save(value.state)
                self.write(b"b")
        else:
            super().save(value, save_persistent_id)
        return None


def dumps(value: Any, protocol: int = 2) -> bytes:
    """Pickle a value with calls and storages in it."""
    import io

    file = io.BytesIO()
    _Pickler(file, protocol).dump(value)
    return file.getvalue()


def tensor(storage: StorageKey, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> Call:
    """A tensor as PyTorch pickles it."""
    return Call(
        "torch._utils._rebuild_tensor_v2", storage, offset, shape, strides, False, Call("collections.OrderedDict")
    )


def longs(*values: int) -> bytes:
    """Integers as a storage holds them."""
    return struct.pack(f"<{len(values)}q", *values)


def raised(call: Callable[[], object]) -> str:
    """The reason for which a call raises `UnreadablePickle`."""
    try:
        call()
    except UnreadablePickle as error:
        return str(error)
    raise AssertionError("it was read")
