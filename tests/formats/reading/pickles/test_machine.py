"""Pickles become the data that they describe, whatever the protocol; nothing that they name is imported or called."""

import collections
import enum
import fractions
import math
import pathlib
import pickle  # noqa: TID251 - writes what the reader is to read
import random
import struct
import time
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolloupe.formats.reading import pickles
from rolloupe.formats.reading.pickles import constructors, json_values, machine
from rolloupe.formats.reading.pickles.json_values import as_json
from rolloupe.formats.reading.pickles.values import (
    ArrayValue,
    Blob,
    Name,
    NumberList,
    Opaque,
    UnreadablePickle,
    floats_of,
    simple,
)
from tests.formats.reading.pickles.support import Call, dumps, nothing_runs, outcome, raised, read
from tests.thoroughness import amount

PROTOCOLS = range(2, 6)

scalars = (
    st.none() | st.booleans() | st.integers() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=())) | st.binary()
)  # fmt: skip
keys = scalars | st.tuples(scalars, scalars)
plain = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(keys, inner)
        | st.tuples(inner, inner)
        | st.tuples(inner, inner, inner, inner)
        | st.sets(keys)
        | st.frozensets(keys)
        | st.binary().map(bytearray)
        | st.complex_numbers(allow_nan=False)
        | st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=2500)
    ),
    max_leaves=20,
)


@given(value=plain, protocol=st.sampled_from(PROTOCOLS))
def test_plain_data_is_read_as_it_was_written(value: Any, protocol: int) -> None:
    assert read(pickle.dumps(value, protocol)) == value


@given(st.lists(st.integers(-(2**31), 2**31 - 1) | st.sampled_from([0, 255, 256, 65535, 65536, 74, 75, 77, 71, 101])))
def test_lists_of_integers_are_read_whatever_their_bytes_look_like(values: list[int]) -> None:
    found = read(pickle.dumps(values, 2))
    assert found == values and len(found) == len(values)
    array = floats_of(found)
    assert array is not None and array.tolist() == values


@given(st.lists(st.floats() | st.integers(0, 300) | st.none() | st.booleans(), max_size=30))
def test_mixed_lists_are_read(values: list[Any]) -> None:
    found = read(pickle.dumps(values, 2))
    assert repr(list(found)) == repr(values)


@pytest.mark.parametrize("size", [999, 1000, 1001, 60_000])
def test_long_lists_of_numbers_stay_in_the_file(size: int) -> None:
    chosen = random.Random(size)
    ids, floats = [chosen.randrange(152_000) for _ in range(size)], [chosen.gauss(0, 1) for _ in range(size)]
    found = read(pickle.dumps({"ids": ids, "floats": floats, "after": [*ids, None, 1]}, 2))
    assert isinstance(found["ids"], NumberList) and isinstance(found["floats"], NumberList)
    ids_array, floats_array = found["ids"].array(), found["floats"].array()
    assert ids_array is not None and ids_array.dtype == np.int64 and ids_array.tolist() == ids
    assert floats_array is not None and floats_array.dtype == np.float64 and floats_array.tolist() == floats
    assert found["after"] == [*ids, None, 1] and len(found["ids"]) == size


def test_a_list_of_numbers_may_grow_later() -> None:
    numbers = [1, 2, 3]
    data = pickle.dumps({"a": numbers, "b": numbers}, 2)
    assert read(data) == {"a": [1, 2, 3], "b": [1, 2, 3]}
    assert read(b"](K\x01K\x02eX\x01\x00\x00\x00xa(K\x03e.") == [1, 2, "x", 3]


def test_texts_of_python_2_are_read() -> None:
    assert read(b"U\x02\xe9!.") == "é!"


def test_the_same_object_is_the_same_again() -> None:
    inner: list[Any] = ["x"]
    found = read(pickle.dumps([inner, inner], 4))
    assert found[0] is found[1]


def test_an_object_may_contain_itself() -> None:
    ring: list[Any] = []
    ring.append(ring)
    assert (found := read(pickle.dumps(ring)))[0] is found
    assert "nested too deeply" in str(as_json(found))


class Colour(enum.Enum):
    RED = "red"


class Point(NamedTuple):
    x: int
    y: int


class Mine:
    class Inner(enum.Enum):
        DONE = "done"

    def __init__(self) -> None:
        self.weight = 3


class MyList(list[int]):
    pass


class MyDict(dict[str, int]):
    pass


HERE = __name__


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_objects_of_classes_become_markers_with_their_data(protocol: int) -> None:
    values = [Colour.RED, Mine(), Point(1, 2), MyDict(a=1), pathlib.PurePosixPath("/a/b"), fractions.Fraction(1, 2)]
    with nothing_runs():
        colour, mine, point, mapping, path, fraction = read(pickle.dumps(values, protocol))
    assert (colour.name, simple(colour)) == (f"{HERE}.Colour", "red")
    assert (mine.name, mine.state) == (f"{HERE}.Mine", {"weight": 3})
    assert all(isinstance(one, Opaque) for one in (colour, mine, point, mapping, path, fraction))
    shown = as_json([mine, point, mapping, path, fraction])
    assert "not called" in shown[0] and "weight" in str(shown[0]) and "Point" in str(shown[1])
    assert "1, 2" in str(shown[1]) and "'a'" in str(shown[2]) and "PurePosixPath" in str(shown[3])


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_nested_enum_is_its_value(protocol: int) -> None:
    assert simple(read(pickle.dumps(Mine.Inner.DONE, protocol))) == "done"


def test_known_containers_are_plain() -> None:
    ordered = collections.OrderedDict(b=1, a=2)
    values = [ordered, collections.Counter("aab"), collections.defaultdict(list, {"x": [1]})]
    for protocol in PROTOCOLS:
        found = read(pickle.dumps(values, protocol))
        assert found == [{"b": 1, "a": 2}, {"a": 2, "b": 1}, {"x": [1]}] and list(found[0]) == ["b", "a"]
    assert read(dumps(Call("torch.Size", (2, 3)))) == (2, 3)
    assert read(dumps([Call("torch.device", "cuda", 1), Call("torch.device", "cpu")])) == ["cuda:1", "cpu"]
    assert read(b"ctorch\nfloat32\n.") == Name("torch.float32")


TYPES = ("?", "i1", "u1", "<i2", ">i4", "i8", "u8", "f2", "<f4", ">f8", "c8", "S3", "U4")


@pytest.mark.parametrize("kind", TYPES)
def test_numpy_arrays_and_scalars_are_data(kind: str) -> None:
    values = np.arange(24).reshape(2, 3, 4).astype(kind)
    for protocol in PROTOCOLS:
        check_arrays(values, pickle.dumps([values, values.T, values[1, 2, 3], values[:0]], protocol))


def check_arrays(values: Any, data: bytes) -> None:
    """Check what is read of a pickle of an array, its transpose, its last element and none of its rows."""
    with nothing_runs():
        found, turned, one, empty = read(data)
    for array, expected in ((found, values), (turned, values.T), (empty, values[:0])):
        assert isinstance(array, ArrayValue)
        assert array.array().dtype == expected.dtype and (array.array() == expected).all()
        assert array.array().shape == expected.shape
    assert one == values[1, 2, 3].item() and type(one) is type(values[1, 2, 3].item())


def test_arrays_of_objects_are_markers() -> None:
    found = as_json(read(pickle.dumps(np.array([{"a": 1}, None], dtype=object))))
    assert found["not called"] == "numpy.ndarray" and {"a": 1} in found["state"][-1]


def test_long_texts_and_bytes_are_read_on_demand() -> None:
    long, data, array = "ö" * 2**20, b"\x00\xff" * 2**20, np.arange(2**20, dtype=np.int16)
    for protocol in PROTOCOLS:
        found = read(pickle.dumps([long, data, array], protocol))
        assert isinstance(found[0], Blob) and found[0] == long and as_json(found[0]) == long
        assert (found[1] == data) and (found[2].array() == array).all()


def test_once_texts_are_many_they_stay_in_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "KEPT_BYTES", 10_000)
    texts = [f"{number}" * 1000 for number in range(10, 30)]
    found = read(pickle.dumps(texts))
    assert isinstance(found[-1], Blob) and isinstance(found[0], str) and found == texts


# What tries to run.


class Runs:
    """Pickled as a call."""

    def __init__(self, *reduced: Any) -> None:
        self._reduced = reduced

    def __reduce__(self) -> tuple[Any, ...]:
        return self._reduced


class Bomb:
    """Would mark itself if anything of it ran."""

    ran: list[str] = []  # noqa: RUF012

    def __new__(cls, *arguments: Any) -> "Bomb":  # noqa: PYI034
        cls.ran.append("new")
        return super().__new__(cls)

    def __init__(self, *arguments: Any) -> None:
        self.ran.append("init")

    def __setstate__(self, state: Any) -> None:
        self.ran.append("setstate")

    def append(self, item: Any) -> None:
        self.ran.append("append")

    extend = append

    def __setitem__(self, key: Any, value: Any) -> None:
        self.ran.append("setitem")

    def __hash__(self) -> int:
        self.ran.append("hash")
        return 1


BOMB = HERE.encode() + b"\nBomb\n"
HOSTILE = {
    "os.system": b"cos\nsystem\n(U\x0etouch /tmp/rantR.",
    "posix.system by name": b"\x80\x04\x8c\x05posix\x8c\x06system\x93\x8c\x05touch\x85R.",
    "eval": b"c__builtin__\neval\n(U\x031/0tR.",
    "exec": b"cbuiltins\nexec\n(U\x10raise SystemExittR.",
    "an import": b"cantigravity\nx\n.",
    "an import of a module of ours": b"crolloupe.cli\nmain\n)R.",
    "getattr": b"cbuiltins\ngetattr\n(cbuiltins\n__import__\nU\x08__call__tR(U\x02ostR.",
    "a chain of calls": b"cfunctools\npartial\n(cos\nsystem\ntR(U\x02lstR)R)R.",
    "map": b"cbuiltins\nmap\n(cos\nsystem\n(U\x02lsttRcbuiltins\nlist\n\x85R.",
    "new": b"c" + BOMB + b")\x81.",
    "new with names": b"\x80\x04c" + BOMB + b")}\x92.",
    "build": b"c" + BOMB + b")\x81}U\x01aK\x01sb.",
    "build of a class": b"c" + BOMB + b"}U\x01aK\x01sb.",
    "build of a function": b"cos\nsystem\nNb.",
    "append": b"c" + BOMB + b")\x81K\x01a.",
    "appends": b"c" + BOMB + b")\x81(K\x01K\x02e.",
    "items": b"c" + BOMB + b")\x81(K\x01K\x02u.",
    "a key that hashes": b"}c" + BOMB + b")\x81K\x01s.",
    "a set of what hashes": b"\x8f(c" + BOMB + b")\x81\x90.",
    "an extension": b"\x82\x01)R.",
    "a persistent id": b"U\x12file:///etc/passwdQ.",
    "torch.load within": b"ctorch.storage\n_load_from_bytes\n(C\x03abctR.",
    "a call of a call": b"cos\nsystem\n)R)R)R.",
    "a call of a text": b"U\x09os.system)R.",
    "a hook of a tensor": dumps(
        Call("torch._utils._rebuild_parameter", Call("os.getcwd"), True, Call("os.system", "ls"))
    ),
    "a tensor's class": dumps(Call("torch._tensor._rebuild_from_type_v2", Call("os.system"), "x", ("ls",), None)),
    "an array's class": dumps(Call("numpy.core.multiarray._reconstruct", Call("os.system", "ls"), (0,), b"b")),
}


def test_nothing_that_a_pickle_names_is_imported_or_called() -> None:
    for name, data in HOSTILE.items():
        Bomb.ran.clear()
        with nothing_runs():
            found = outcome(data)
            shown = found if isinstance(found, str) else as_json(found)
        assert Bomb.ran == [] and shown is not None, name


def test_a_marker_says_what_was_not_called() -> None:
    assert as_json(read(HOSTILE["os.system"])) == {"not called": "os.system", "arguments": ["touch /tmp/ran"]}


def test_the_watch_over_what_runs_can_fail() -> None:
    with pytest.raises(AssertionError), nothing_runs():
        compile("1", "x", "eval")


# What tries to take all memory or time.


def _nested(opening: bytes, closing: bytes, count: int = 50_000) -> bytes:
    return opening * count + b"N" + closing * count + b"."


LARGE = {
    "deep lists": _nested(b"]", b"a"),
    "deep tuples": _nested(b"", b"\x85"),
    "deep dicts": b"}" + b"K\x01}" * 50_000 + b"s" * 50_000 + b".",
    "deep tuples as a key": b"}N" + b"\x85" * 200_000 + b"Ns.",
    "doubled tuples as a key": b"}N" + b"2\x86" * 200 + b"Ns.",
    "a huge integer": b"\x8b\xff\xff\xff\x7f" + b"\xff" * 100,
    "a negative length": b"\x8b\xff\xff\xff\xff.",
    "a negative length of a text": b"T\xff\xff\xff\xff" * 1000 + b".",
    "a type that was never one": dumps(Call("numpy.core.multiarray.scalar", Call("numpy.dtype", ("x",), state="<"), 1)),
    "a number of a device that is deep": _nested(b"", b"\x85")[:-1] + b"0ctorch\ndevice\n(X\x01\x00\x00\x00a]tR.",
    "a huge text": b"X\xff\xff\xff\xffabc.",
    "a text of eighteen exabytes": b"\x8d\xff\xff\xff\xff\xff\xff\xff\xffabc.",
    "huge bytes": b"\x8e\xff\xff\xff\xff\xff\xff\xff\x7fabc.",
    "a huge byte array": b"\x96\xff\xff\xff\xff\xff\xff\xff\x7fabc.",
    "a huge frame": b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\xffN.",
    "a memo of huge numbers": b"N" + b"".join(b"r" + struct.pack("<I", 2**32 - n) for n in range(1, 1000)) + b".",
    "a line without end": b"c" + b"a" * 200_000,
    "a huge array": dumps(Call("numpy.core.multiarray._reconstruct", None, (0,), b"b", state=(
        1, (2**39, 2**39), Call("numpy.dtype", "f8", state=(3, "<", None, None, None, -1, -1, 0)), False, b""))),
    "a huge type": dumps(Call("numpy.dtype", "U99999999999999999999")),
}  # fmt: skip


@pytest.mark.parametrize("name", LARGE)
def test_hostile_sizes_end_soon(name: str) -> None:
    began_s = time.process_time()
    found = outcome(LARGE[name])
    _shown(found)
    assert time.process_time() - began_s < 8


def _shown(value: Any) -> Any:
    try:
        return as_json(value)
    except UnreadablePickle as error:
        return str(error)


def test_values_that_repeat_without_end_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_values, "MAX_VALUES", 50_000)
    doubled = b"".join(b"](h%ch%ceq%c0" % (n, n, n + 1) for n in range(60))
    shown = str(as_json(read(b"]q\x00" + doubled + b"h\x3c.")))
    assert "more values than are shown" in shown and len(shown) < 2**23


SAME_HASH = [(2**61 - 1) * number for number in range(1, 40_000)]
COLLIDING = {
    "dict": b"}(" + b"".join(pickle.dumps(one, 2)[2:-1] + b"N" for one in SAME_HASH) + b"u.",
    "set": b"\x8f(" + b"".join(pickle.dumps(one, 2)[2:-1] for one in SAME_HASH) + b"\x90.",
    "frozenset": b"(" + b"".join(pickle.dumps(one, 2)[2:-1] for one in SAME_HASH) + b"\x91.",
    "call of a set": b"cbuiltins\nset\n" + pickle.dumps(SAME_HASH, 2)[2:-1] + b"\x85R.",
    "call of a dict": b"ccollections\nOrderedDict\n"
    + pickle.dumps([(one, None) for one in SAME_HASH], 2)[2:-1]
    + b"\x85R.",
}


@pytest.mark.parametrize("name", COLLIDING)
def test_keys_that_collide_end_by_the_clock(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(constructors, "MAX_SECONDS_OF_KEYS", 0.2)
    began_s = time.monotonic()
    assert "very long to tell apart" in raised(lambda: read(COLLIDING[name]))
    assert time.monotonic() - began_s < 10


def test_steps_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "MAX_STEPS", 1000)
    assert "more than 1,000 steps" in raised(lambda: read(b"]" + b"Na" * 1000 + b"."))
    assert read(pickle.dumps(list(range(5000)), 2)) == list(range(5000))


# Damage.

EXAMPLE = {
    "samples": [
        {"tokens": [1, 70_000, 300], "text": "héllo", "reward": 0.5, "status": Colour.RED, "n": 2**70, "none": None},
        {"set": {1, "a"}, "tuple": (1, (2,)), "array": np.arange(5), "bytes": b"\x00x", "scalar": np.float32(2)},
    ]
}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_pickle_cut_off_anywhere_is_refused(protocol: int) -> None:
    data = pickle.dumps(EXAMPLE, protocol)
    with nothing_runs():
        for stop in range(len(data)):
            assert raised(lambda: read(data[:stop]))  # noqa: B023 - called at once


@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_campaign_of_damaged_pickles_runs_nothing(protocol: int) -> None:
    data, chosen = pickle.dumps(EXAMPLE, protocol), random.Random(protocol)
    with nothing_runs():
        for _ in range(amount(20_000, 200_000)):
            damaged = bytearray(data)
            for _ in range(chosen.randint(1, 4)):
                damaged[chosen.randrange(len(data))] = chosen.randrange(256)
            _shown(outcome(bytes(damaged)))


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with nothing_runs():
        _shown(outcome(data))


COPIES = {
    "lists": b"](" + b"N" * 100_000 + b"e", "numbers": b"](" + b"K\x01" * 1000 + b"e",
    "bytes": b"B" + struct.pack("<I", 2**20) + b"a" * 2**20, "texts": b"X" + struct.pack("<I", 2**20) + b"a" * 2**20,
}  # fmt: skip
CALLS = {"lists": b"cbuiltins\nlist\n", "numbers": b"cbuiltins\ntuple\n", "bytes": b"cbuiltins\nbytearray\n"}


@pytest.mark.parametrize("kind", COPIES)
def test_calls_that_copy_without_end_are_refused(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(machine, "MAX_COPIED", 2**21)
    made = COPIES[kind] + b"q\x010" + (CALLS.get(kind, b"c_codecs\nencode\n") + b"h\x01\x85R") * 10_000 + b"."
    began_s = time.process_time()
    assert raised(lambda: read(made)) == "its calls copy more than 2,097,152 values: not read"
    assert time.process_time() - began_s < 10


def test_of_values_that_repeat_each_other_few_are_shown_unless_all_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    many: list[Any] = ["x"]
    for _ in range(6):
        many = [many] * 10
    monkeypatch.setattr(json_values, "MAX_VALUES", 2**16)
    shown = [str(as_json(read(pickle.dumps(many)), most=most)).count("'x'") for most in (4096, 2**16)]
    assert 0 < shown[0] <= 2**16 / json_values.COST and 4 * shown[0] < shown[1] <= 2**16
    monkeypatch.undo()
    assert as_json(read(pickle.dumps("y" * 2**24))) == "y" * 2**24


def test_a_pickle_of_a_later_protocol_is_refused_by_its_number() -> None:
    assert "protocol 6" in raised(lambda: read(b"\x80\x06N."))


def test_json_has_texts_for_keys_and_words_for_what_it_lacks() -> None:
    value = {1: b"\xff", ("a", 2): {3}, "lone": "\ud800", "nan": math.nan, "long": list(range(5000))}
    shown = as_json(read(pickle.dumps(value)))
    assert shown["1"] == "�" and shown["lone"] == "�" and shown["('a', 2)"] == [3]
    assert shown["long"] == "(list: 5,000 values)" and math.isnan(shown["nan"])
    assert as_json(read(pickle.dumps(value)), most=10_000)["long"] == list(range(5000))


def test_nothing_in_the_reader_can_unpickle() -> None:
    folder = pathlib.Path(pickles.__file__).parent
    code = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.py"))
    assert not any(
        word in code for word in ("import pickle", "from pickle", "importlib", "eval(", "exec(", "__import__")
    )
