"""The machine that follows the opcodes of a pickle, of protocols 0 to 5, and makes data of them.

Source of the opcodes: Python's `pickletools`. Steps, memory and time are bounded: each step makes at most one value,
long texts and lists of numbers stay in the file, and no step takes longer for what came before it.
"""

import codecs
import re
import struct
import time
from collections.abc import Callable, Sized
from typing import Any, Final

from rolloupe.formats.reading.pickles.constructors import as_key, call, fill, paced
from rolloupe.formats.reading.pickles.values import (
    LIST_OF_NUMBERS,
    MAX_RUN_BYTES,
    RUN,
    Blob,
    Name,
    NumberList,
    Opaque,
    UnreadablePickle,
    Window,
)

MAX_STEPS = 2**23
"""Most opcodes of a pickle, not counting numbers in lists."""

MAX_SECONDS = 60.0
STEPS_BETWEEN_LOOKS = 2**12
LONG_BYTES = 2**20
"""Longer texts are read when asked for."""

KEPT_BYTES = 2**26
"""Once texts take this much, all but short ones are read when asked for."""

MAX_COPIED = 2**24
"""Values, or bytes, that the calls of a pickle may copy, such as a list of another list."""

SHORT_BYTES = 2**10
MAX_INTEGER_BYTES = 2**10
MAX_DIGITS = 2_400
STOP = ord(".")

_DAMAGE = (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, struct.error)
"""What damaged opcodes cause."""

_ESCAPE = re.compile(r"\\(x([0-9a-fA-F]{2})|.)", re.DOTALL)
_LETTERS = {"n": "\n", "r": "\r", "t": "\t"}

Persistent = Callable[[Any], Any]
"""Returns what a persistent id stands for. Raises TypeError for an unknown kind."""


def interpret(window: Window, persistent: Persistent | None = None) -> Any:
    """Return what the pickle at a window's place describes. Raises `UnreadablePickle`, and nothing else."""
    machine = Machine(window, persistent)
    try:
        return machine.run()
    except UnreadablePickle:
        raise
    except MemoryError:
        raise UnreadablePickle("too large for the memory") from None
    except _DAMAGE as error:
        reason = f"not a pickle, or damaged before byte {window.place:,} ({type(error).__name__})"
        raise UnreadablePickle(reason) from None


def beginning(window: Window, most: int = 2**17) -> list[Any]:
    """Return the values that a pickle has described before its bytes, or so many steps, end: what it begins with.

    Of a whole pickle these are the one value that it describes.
    """
    machine = Machine(window, None)
    try:
        return [machine.run(most)]
    except (UnreadablePickle, MemoryError, *_DAMAGE):
        return machine.stack


class Machine:
    """The stack and the memo of one pickle."""

    def __init__(self, window: Window, persistent: Persistent | None) -> None:
        self.window = window
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}
        self._persistent = persistent
        self._kept_bytes = 0
        self._copied = 0
        self._ends_s = time.monotonic() + MAX_SECONDS

    def run(self, most: int | None = None) -> Any:
        """Follow the opcodes to the last one, and return the value on top of the stack."""
        window, most = self.window, MAX_STEPS if most is None else most
        for step in range(most):
            if not step % STEPS_BETWEEN_LOOKS:
                self.look_at_clock()
            code = window.byte()
            if code == STOP:
                return self.stack.pop()
            action = ACTIONS.get(code)
            if action is None:
                raise UnreadablePickle(f"not a pickle, or damaged: no opcode at byte {window.place - 1:,}")
            action(self)
        raise UnreadablePickle(f"more than {most:,} steps: not read")

    def look_at_clock(self) -> None:
        """Raise `UnreadablePickle` if the time is over."""
        if time.monotonic() > self._ends_s:
            raise UnreadablePickle(f"it takes more than {MAX_SECONDS:.0f} seconds: not read")

    def push(self, value: Any) -> None:
        """Put a value onto the stack."""
        self.stack.append(value)

    def top(self) -> Any:
        """Return the value on top of the stack."""
        return self.stack[-1]

    def items(self) -> list[Any]:
        """Take everything above the last mark, and the mark."""
        first = self.marks.pop()
        found = self.stack[first:]
        del self.stack[first:]
        return found

    def number(self, form: str) -> Any:
        """Read a number, as `struct` calls it."""
        return struct.unpack(form, self.window.take(struct.calcsize(form)))[0]

    def text(self, length: int, encoding: str) -> Any:
        """Read a text, or bytes if the encoding is empty; a long one is left where it is."""
        if length > LONG_BYTES or (length > SHORT_BYTES and self._kept_bytes > KEPT_BYTES):
            return Blob(self.window.read, self.window.skip(length), length, encoding)
        self._kept_bytes += length
        data = self.window.take(length)
        return data.decode(encoding, "surrogatepass") if encoding else data

    def name(self, module: str, attribute: str) -> None:
        """Put a name onto the stack."""
        self.push(Name(f"{module}.{attribute}"))

    def call(self, callee: Any, arguments: Any) -> None:
        """Put onto the stack what a call means."""
        found = call(callee, arguments)
        self._copied += len(found) if isinstance(found, Sized) else 0
        if self._copied > MAX_COPIED:
            raise UnreadablePickle(f"its calls copy more than {MAX_COPIED:,} values: not read")
        self.push(found)

    def persistent(self, key: Any) -> None:
        """Put onto the stack what a persistent id stands for."""
        try:
            self.push(self._persistent(key) if self._persistent else Opaque("persistent id", (key,)))
        except (TypeError, ValueError):
            self.push(Opaque("persistent id", (key,)))


Action = Callable[[Machine], None]
ACTIONS: Final[dict[int, Action]] = {}


def _on(code: bytes) -> Callable[[Action], Action]:
    def register(action: Action) -> Action:
        ACTIONS[ord(code)] = action
        return action

    return register


def _pushes(code: bytes, make: Callable[[Machine], Any]) -> None:
    """Register an opcode that puts one value onto the stack."""
    ACTIONS[ord(code)] = lambda machine: machine.push(make(machine))


# Values.


def _constant(value: Any) -> Callable[[Machine], Any]:
    return lambda _: value


def _number(form: str) -> Callable[[Machine], Any]:
    return lambda machine: machine.number(form)


def _text(form: str, encoding: str) -> Callable[[Machine], Any]:
    """A text, or bytes, after its length."""
    return lambda machine: machine.text(machine.number(form), encoding)


for _code, _value in ((b"N", None), (b"\x88", True), (b"\x89", False), (b")", ())):
    _pushes(_code, _constant(_value))
for _code, _form in ((b"K", "<B"), (b"M", "<H"), (b"J", "<i"), (b"G", ">d")):
    _pushes(_code, _number(_form))
for _code, _form, _encoding in (
    (b"X", "<I", "utf-8"), (b"\x8c", "<B", "utf-8"), (b"\x8d", "<Q", "utf-8"),
    (b"U", "<B", "latin-1"), (b"T", "<i", "latin-1"),
    (b"B", "<I", ""), (b"C", "<B", ""), (b"\x8e", "<Q", ""),
):  # fmt: skip
    _pushes(_code, _text(_form, _encoding))
_pushes(b"\x8a", lambda machine: _integer(machine, machine.number("<B")))
_pushes(b"\x8b", lambda machine: _integer(machine, machine.number("<i")))
_pushes(b"I", lambda machine: _decimal_or_flag(machine.window.line()))
_pushes(b"L", lambda machine: _decimal(machine.window.line().rstrip(b"L")))
_pushes(b"F", lambda machine: float(machine.window.line()))
_pushes(b"S", lambda machine: _quoted(machine.window.line()))
_pushes(b"V", lambda machine: codecs.raw_unicode_escape_decode(machine.window.line())[0])
_pushes(b"}", lambda _: {})
_pushes(b"\x8f", lambda _: set())


def _integer(machine: Machine, length: int) -> int:
    if not 0 <= length <= MAX_INTEGER_BYTES:
        raise UnreadablePickle(f"an integer of {length:,} bytes: not read")
    return int.from_bytes(machine.window.take(length), "little", signed=True)


def _byte_array(machine: Machine) -> Any:
    found = machine.text(machine.number("<Q"), "")
    return found if isinstance(found, Blob) else bytearray(found)


_pushes(b"\x96", _byte_array)


def _decimal_or_flag(line: bytes) -> int:
    return line == b"01" if line in (b"00", b"01") else _decimal(line)


def _decimal(line: bytes) -> int:
    if len(line) > MAX_DIGITS:
        raise UnreadablePickle(f"an integer of {len(line):,} digits: not read")
    return int(line)


def _quoted(line: bytes) -> str:
    """A text of Python 2, as its `repr` wrote it."""
    if len(line) < 2 or line[:1] != line[-1:] or line[:1] not in (b"'", b'"'):
        raise ValueError("no text in quotes")
    return _ESCAPE.sub(
        lambda match: chr(int(match[2], 16)) if match[2] else _LETTERS.get(match[1], match[1]),
        line[1:-1].decode("latin-1"),
    )


@_on(b"]")
def _empty_list(machine: Machine) -> None:
    machine.window.look(MAX_RUN_BYTES)
    is_numbers = LIST_OF_NUMBERS.match(machine.window.data, machine.window.at)
    machine.push(NumberList(machine.window.read) if is_numbers else [])


# Containers.


@_on(b"(")
def _mark(machine: Machine) -> None:
    """Begin a row of items. If all are numbers for the list below, only their place is noted."""
    window, stack = machine.window, machine.stack
    if stack and isinstance(stack[-1], NumberList):
        window.at -= 1
        window.look(MAX_RUN_BYTES)
        run = RUN.match(window.data, window.at)
        window.at += 1
        if run is not None:
            length = run.end() - run.start() - 2
            stack[-1].add_run(window.skip(length + 1), length)
            return
    machine.marks.append(len(stack))


@_on(b"a")
def _append(machine: Machine) -> None:
    value = machine.stack.pop()
    machine.top().extend([value])


@_on(b"e")
def _appends(machine: Machine) -> None:
    items = machine.items()
    machine.top().extend(items)


@_on(b"s")
def _set_item(machine: Machine) -> None:
    value, key = machine.stack.pop(), machine.stack.pop()
    _put(machine, [key, value])


@_on(b"u")
def _set_items(machine: Machine) -> None:
    _put(machine, machine.items())


@_on(b"d")
def _dict(machine: Machine) -> None:
    items = machine.items()
    machine.push({})
    _put(machine, items)


def _put(machine: Machine, items: list[Any]) -> None:
    target = machine.top()
    if isinstance(target, Opaque):
        target.extend(list(zip(items[::2], items[1::2], strict=True)))
        return
    if not isinstance(target, dict):
        raise TypeError("items for something that is no dict")
    for key, value in paced(zip(items[::2], items[1::2], strict=True)):
        target[as_key(key)] = value


@_on(b"\x90")
def _add_items(machine: Machine) -> None:
    items, target = machine.items(), machine.top()
    if isinstance(target, Opaque):
        target.extend(items)
        return
    for item in paced(items):
        target.add(as_key(item))


_pushes(b"l", lambda machine: machine.items())
_pushes(b"t", lambda machine: tuple(machine.items()))
_pushes(b"\x91", lambda machine: frozenset(map(as_key, paced(machine.items()))))


def _tuple_of(count: int) -> Action:
    def action(machine: Machine) -> None:
        found = tuple(machine.stack[-count:])
        if len(found) < count:
            raise IndexError("too few values on the stack")
        machine.stack[-count:] = [found]

    return action


ACTIONS.update({ord(code): _tuple_of(count) for code, count in ((b"\x85", 1), (b"\x86", 2), (b"\x87", 3))})


# The stack and the memo.


@_on(b"0")
def _pop(machine: Machine) -> None:
    if machine.marks and machine.marks[-1] == len(machine.stack):
        machine.marks.pop()
    else:
        machine.stack.pop()


@_on(b"1")
def _pop_mark(machine: Machine) -> None:
    machine.items()


_pushes(b"2", lambda machine: machine.top())
_pushes(b"g", lambda machine: machine.memo[_decimal(machine.window.line())])
_pushes(b"h", lambda machine: machine.memo[machine.number("<B")])
_pushes(b"j", lambda machine: machine.memo[machine.number("<I")])


def _puts(code: bytes, key: Callable[[Machine], int]) -> None:
    """Register an opcode that notes the top of the stack in the memo."""
    ACTIONS[ord(code)] = lambda machine: machine.memo.__setitem__(key(machine), machine.top())


_puts(b"p", lambda machine: _decimal(machine.window.line()))
_puts(b"q", lambda machine: machine.number("<B"))
_puts(b"r", lambda machine: machine.number("<I"))
_puts(b"\x94", lambda machine: len(machine.memo))


# What other machines would import, call and build.


@_on(b"c")
def _global(machine: Machine) -> None:
    module, attribute = (machine.window.line().decode("utf-8") for _ in range(2))
    machine.name(module, attribute)


@_on(b"\x93")
def _stack_global(machine: Machine) -> None:
    attribute, module = machine.stack.pop(), machine.stack.pop()
    if not (isinstance(attribute, str) and isinstance(module, str)):
        raise TypeError("a name that is no text")
    machine.name(module, attribute)


@_on(b"R")
def _reduce(machine: Machine) -> None:
    arguments, callee = machine.stack.pop(), machine.stack.pop()
    machine.call(callee, arguments)


@_on(b"\x81")
def _new_object(machine: Machine) -> None:
    arguments, kind = machine.stack.pop(), machine.stack.pop()
    machine.call(kind, arguments)


@_on(b"\x92")
def _new_object_with_names(machine: Machine) -> None:
    names, arguments, kind = (machine.stack.pop() for _ in range(3))
    machine.call(kind, (*arguments, names) if names else arguments)


@_on(b"i")
def _instance(machine: Machine) -> None:
    module, attribute = (machine.window.line().decode("utf-8") for _ in range(2))
    machine.call(Name(f"{module}.{attribute}"), tuple(machine.items()))


@_on(b"o")
def _object(machine: Machine) -> None:
    kind, *arguments = machine.items()
    machine.call(kind, tuple(arguments))


@_on(b"b")
def _build(machine: Machine) -> None:
    state = machine.stack.pop()
    fill(machine.top(), state)


@_on(b"P")
def _persistent_id(machine: Machine) -> None:
    machine.persistent(machine.window.line().decode("utf-8"))


@_on(b"Q")
def _binary_persistent_id(machine: Machine) -> None:
    machine.persistent(machine.stack.pop())


def _extension(form: str) -> Callable[[Machine], Any]:
    """A name by its number in a registry of the process that wrote it."""
    return lambda machine: Name(f"copyreg extension {machine.number(form)}")


for _code, _form in ((b"\x82", "<B"), (b"\x83", "<H"), (b"\x84", "<i")):
    _pushes(_code, _extension(_form))


# Around the values.


@_on(b"\x80")
def _protocol(machine: Machine) -> None:
    if (version := machine.number("<B")) > 5:
        raise UnreadablePickle(f"a pickle of protocol {version}, and 5 is the last one known here")


@_on(b"\x95")
def _frame(machine: Machine) -> None:
    machine.number("<Q")


@_on(b"\x97")
def _next_buffer(_: Machine) -> None:
    raise UnreadablePickle("its values lie outside of the pickle, which no file has")


@_on(b"\x98")
def _readonly_buffer(machine: Machine) -> None:
    machine.top()
