"""The machine that follows the opcodes of a pickle, of protocols 2 to 5, and makes data.

Source of the opcodes: Python's `pickletools`; PyTorch writes protocol 2. Opcodes for values outside of the pickle, in
buffers or in a registry of the writer, are unknown here. Steps, memory and time are bounded: each step makes at most
one value, long texts and lists of numbers stay in the file, and steps do not become slower.
"""

import struct
import time
from collections.abc import Callable, Sized
from typing import Any, Final

from rolloupe.formats.reading.pickles import values
from rolloupe.formats.reading.pickles.constructors import as_key, call, fill, paced

MAX_STEPS = 2**23
"""The most opcodes of a pickle, not counting numbers in lists."""
MAX_BEGINNING_STEPS = 2**17
MAX_SECONDS = 60.0
STEPS_BETWEEN_LOOKS = 2**12
SHORT_BYTES = 2**10
LONG_BYTES = 2**20
"""Longer texts are read on demand."""
KEPT_BYTES = 2**26
"""Once texts take this much, all but short ones are read on demand."""
MAX_COPIED = 2**24
"""The most values or bytes that the calls of a pickle may copy, such as a list into a new list."""
MAX_INTEGER_BYTES = 2**10
STOP = ord(".")
_DAMAGE = (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, struct.error)
"""Exceptions that damaged opcodes cause."""
Persistent = Callable[[Any], Any]
"""Returns the value of a persistent id. Raises TypeError for an unknown kind."""


def interpret(window: values.Window, persistent: Persistent | None = None) -> Any:
    """Return the value that the pickle at a window's place describes. Raises only `UnreadablePickle`."""
    try:
        return Machine(window, persistent).run(MAX_STEPS)
    except values.UnreadablePickle:
        raise
    except MemoryError:
        raise values.UnreadablePickle("too large for the memory") from None
    except _DAMAGE as error:
        reason = f"not a pickle, or damaged before byte {window.place:,} ({type(error).__name__})"
        raise values.UnreadablePickle(reason) from None


def beginning(window: values.Window) -> list[Any]:
    """Return the values that a pickle describes before its bytes end, or in its first steps.

    A whole pickle describes a single value.
    """
    machine = Machine(window, None)
    try:
        return [machine.run(MAX_BEGINNING_STEPS)]
    except (values.UnreadablePickle, MemoryError, *_DAMAGE):
        return machine.stack


class Machine:
    """The stack and the memo of one pickle."""

    def __init__(self, window: values.Window, persistent: Persistent | None) -> None:
        self.window = window
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}
        self._persistent = persistent
        self._kept_bytes = 0
        self._copied = 0

    def run(self, most: int) -> Any:
        """Follow the opcodes to the last one, and return the value on top of the stack."""
        window, stack = self.window, self.stack
        ends_s = time.monotonic() + MAX_SECONDS
        for step in range(most):
            if not step % STEPS_BETWEEN_LOOKS and time.monotonic() > ends_s:
                raise values.UnreadablePickle(f"it takes more than {MAX_SECONDS:.0f} seconds: not read")
            code = window.byte()
            if (make := VALUES.get(code)) is not None:
                stack.append(make(self))
            elif (action := ACTIONS.get(code)) is not None:
                action(self)
            elif code == STOP:
                return stack.pop()
            else:
                raise values.UnreadablePickle(f"not a pickle, or damaged: no opcode at byte {window.place - 1:,}")
        raise values.UnreadablePickle(f"more than {most:,} steps: not read")

    def pop(self, count: int) -> list[Any]:
        """Take the values on top of the stack, the topmost last."""
        if count > len(self.stack):
            raise IndexError("too few values on the stack")
        taken = self.stack[-count:]
        del self.stack[-count:]
        return taken

    def items(self) -> list[Any]:
        """Take everything above the last mark, and the mark."""
        first = self.marks.pop()
        items = self.stack[first:]
        del self.stack[first:]
        return items

    def number(self, form: str) -> Any:
        """Read a number in a format of `struct`."""
        return struct.unpack(form, self.window.take(struct.calcsize(form)))[0]

    def integer(self, length: int) -> int:
        if not 0 <= length <= MAX_INTEGER_BYTES:
            raise values.UnreadablePickle(f"an integer of {length:,} bytes: not read")
        return int.from_bytes(self.window.take(length), "little", signed=True)

    def text(self, form: str, encoding: str) -> Any:
        """Read a text after its length, or bytes if the encoding is empty; a long one stays in the file."""
        length = self.number(form)
        if length > LONG_BYTES or (length > SHORT_BYTES and self._kept_bytes > KEPT_BYTES):
            return values.Blob(self.window.read, self.window.skip(length), length, encoding)
        self._kept_bytes += length
        data = self.window.take(length)
        return data.decode(encoding, "surrogatepass") if encoding else data

    def name(self) -> values.Name:
        """Read a module and a name in it, a line each."""
        return values.Name(".".join(self.window.line().decode("utf-8") for _ in range(2)))

    def call(self, callee: Any, arguments: Any) -> Any:
        result = call(callee, arguments)
        self._copied += len(result) if isinstance(result, Sized) else 0
        if self._copied > MAX_COPIED:
            raise values.UnreadablePickle(f"its calls copy more than {MAX_COPIED:,} values: not read")
        return result

    def persistent(self, key: Any) -> Any:
        try:
            return self._persistent(key) if self._persistent else values.Opaque("persistent id", (key,))
        except (TypeError, ValueError):
            return values.Opaque("persistent id", (key,))


def _list(machine: Machine) -> Any:
    machine.window.look(values.MAX_RUN_BYTES)
    is_numbers = values.LIST_OF_NUMBERS.match(machine.window.data, machine.window.at)
    return values.NumberList(machine.window.read) if is_numbers else []


def _name_on_stack(machine: Machine) -> values.Name:
    module, attribute = machine.pop(2)
    if not (isinstance(attribute, str) and isinstance(module, str)):
        raise TypeError("a name that is not text")
    return values.Name(f"{module}.{attribute}")


def _new_object_with_names(machine: Machine) -> Any:
    kind, arguments, names = machine.pop(3)
    return machine.call(kind, (*arguments, names) if names else arguments)


VALUES: Final[dict[int, Callable[[Machine], Any]]] = {
    ord("N"): lambda _: None,
    0x88: lambda _: True,
    0x89: lambda _: False,
    ord("K"): lambda machine: machine.number("<B"),
    ord("M"): lambda machine: machine.number("<H"),
    ord("J"): lambda machine: machine.number("<i"),
    ord("G"): lambda machine: machine.number(">d"),
    0x8A: lambda machine: machine.integer(machine.number("<B")),
    0x8B: lambda machine: machine.integer(machine.number("<i")),
    ord("X"): lambda machine: machine.text("<I", "utf-8"),
    0x8C: lambda machine: machine.text("<B", "utf-8"),
    0x8D: lambda machine: machine.text("<Q", "utf-8"),
    ord("U"): lambda machine: machine.text("<B", "latin-1"),
    ord("T"): lambda machine: machine.text("<i", "latin-1"),
    ord("B"): lambda machine: machine.text("<I", ""),
    ord("C"): lambda machine: machine.text("<B", ""),
    0x8E: lambda machine: machine.text("<Q", ""),
    0x96: lambda machine: data if isinstance(data := machine.text("<Q", ""), values.Blob) else bytearray(data),
    # Containers.
    ord("]"): _list,
    ord("}"): lambda _: {},
    ord(")"): lambda _: (),
    0x8F: lambda _: set(),
    ord("t"): lambda machine: tuple(machine.items()),
    0x91: lambda machine: frozenset(map(as_key, paced(machine.items()))),
    0x85: lambda machine: tuple(machine.pop(1)),
    0x86: lambda machine: tuple(machine.pop(2)),
    0x87: lambda machine: tuple(machine.pop(3)),
    # The stack and the memo.
    ord("2"): lambda machine: machine.stack[-1],
    ord("h"): lambda machine: machine.memo[machine.number("<B")],
    ord("j"): lambda machine: machine.memo[machine.number("<I")],
    # Names and calls: other machines import the names, and make the calls.
    ord("c"): lambda machine: machine.name(),
    0x93: _name_on_stack,
    ord("R"): lambda machine: machine.call(*machine.pop(2)),
    0x81: lambda machine: machine.call(*machine.pop(2)),
    0x92: _new_object_with_names,
    ord("Q"): lambda machine: machine.persistent(machine.stack.pop()),
}
"""The opcodes that put a value onto the stack: each function returns the value."""


def _mark(machine: Machine) -> None:
    """Begin a row of items; note only the place of numbers for a list."""
    window, stack = machine.window, machine.stack
    if stack and isinstance(stack[-1], values.NumberList):
        window.at -= 1
        window.look(values.MAX_RUN_BYTES)
        run = values.RUN.match(window.data, window.at)
        window.at += 1
        if run is not None:
            length = run.end() - run.start() - 2
            stack[-1].add_run(window.skip(length + 1), length)
            return
    machine.marks.append(len(stack))


def _extend(machine: Machine, items: list[Any]) -> None:
    machine.stack[-1].extend(items)


def _add_items(machine: Machine) -> None:
    items, target = machine.items(), machine.stack[-1]
    if isinstance(target, values.Opaque):
        target.extend(items)
        return
    for item in paced(items):
        target.add(as_key(item))


def _put(machine: Machine, items: list[Any]) -> None:
    """Put keys and values, which alternate, into the dict or the marker on top of the stack."""
    pairs, target = zip(items[::2], items[1::2], strict=True), machine.stack[-1]
    if isinstance(target, values.Opaque):
        target.items.extend(pairs)
        return
    if not isinstance(target, dict):
        raise TypeError("items for something that is not a dict")
    for key, value in paced(pairs):
        target[as_key(key)] = value


def _pop(machine: Machine) -> None:
    if machine.marks and machine.marks[-1] == len(machine.stack):
        machine.marks.pop()
    else:
        machine.stack.pop()


def _memoize(machine: Machine, key: int) -> None:
    machine.memo[key] = machine.stack[-1]


def _protocol(machine: Machine) -> None:
    if (version := machine.number("<B")) > 5:
        raise values.UnreadablePickle(f"a pickle of protocol {version}, and 5 is the last one known here")


ACTIONS: Final[dict[int, Callable[[Machine], object]]] = {
    ord("("): _mark,
    ord("a"): lambda machine: _extend(machine, machine.pop(1)),
    ord("e"): lambda machine: _extend(machine, machine.items()),
    ord("s"): lambda machine: _put(machine, machine.pop(2)),
    ord("u"): lambda machine: _put(machine, machine.items()),
    0x90: _add_items,
    ord("0"): _pop,
    ord("1"): lambda machine: machine.items(),
    ord("q"): lambda machine: _memoize(machine, machine.number("<B")),
    ord("r"): lambda machine: _memoize(machine, machine.number("<I")),
    0x94: lambda machine: _memoize(machine, len(machine.memo)),
    ord("b"): lambda machine: fill(machine.stack[-2], machine.stack.pop()),
    0x80: _protocol,
    0x95: lambda machine: machine.number("<Q"),  # the length of a frame
}
"""The opcodes that change values on the stack, or the memo."""
