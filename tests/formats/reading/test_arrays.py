"""Arrays cut out of a line are what the whole line decodes to, whatever the line holds."""

import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolloupe import tokens
from rolloupe.formats import by_name
from rolloupe.formats.reading import arrays
from rolloupe.formats.reading.arrays import Cutter
from rolloupe.formats.reading.line_reader import parse
from rolloupe.formats.reading.records import Unusable
from rolloupe.model import RunInfo, RunPart, SampleRow
from tests.formats.support import load

KEYS = [
    "logprobs", "ref_logprobs", "values", "entropy", "reward", "prompt", "error", "ä", "token_ids", "loss_mask",
    "response_tokens",
]  # fmt: skip

numbers = st.one_of(
    st.integers(-3, 3).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.sampled_from(
        ["-0", "-0.0", "1E5", "1e-320", "18446744073709551615", "18446744073709551616", "-9223372036854775809", "1e400"]
    ),
    st.sampled_from(["9007199254740993", "0.1000000000000000055511151231257827", "9" * 400, "123456789012345678901.5"]),
)
oddities = st.sampled_from(
    [
        "NaN", "Infinity", "-Infinity", "null", "true", "false", '"x"', '"]"', '"[1, 2]"', '"null"', "[1, 2]", "[]",
        '{"logprobs": [3, 4]}', "[1", "]", "", "1 2", "01", "1.", ".5", "+1", "nan", "--1", r'"\ud800"', "\x00", "\xa0",
        "-NaN", "1NaN", "null1", "1null", "0null", "-null", "nullnull", "1eNaN", "1.NaN", "NaN.5", "NaNe1", "-true",
        "1Infinity", "0Infinity", "-1Infinity", "--Infinity", "Infinity0", "Infinitynull", "1eInfinity", "trufalse",
    ]
)  # fmt: skip
separators = st.sampled_from([", ", ",", " , ", ",\t"])


@st.composite
def flat(draw: st.DrawFn, elements: st.SearchStrategy[str] = numbers) -> str:
    """The text of an array."""
    opening = draw(st.sampled_from(["[", "[ "]))
    alike = st.builds(lambda one, count: [one] * count, elements, st.integers(2, 6))
    some = draw(st.lists(elements, max_size=6) | alike)
    return opening + draw(separators).join(some) + draw(st.sampled_from(["]", "]", ", ]"]))


texts = st.sampled_from(['"logprobs": [1, 2]', '\\"logprobs": [1, 2]', "plain", '"', "]", '["values":[1]'])
inner = st.one_of(flat(), flat(numbers | oddities), numbers, texts.map(json.dumps))
keys = st.sampled_from([json.dumps(key, ensure_ascii=False) for key in [*KEYS, 'a"logprobs']] + [r'"log\u0070robs"'])


@st.composite
def objects(draw: st.DrawFn, values: st.SearchStrategy[str]) -> str:
    """The text of an object, its keys not always distinct."""
    colon = draw(st.sampled_from([": ", ":", " : "]))
    return "{" + ", ".join(f"{draw(keys)}{colon}{draw(values)}" for _ in range(draw(st.integers(0, 5)))) + "}"


whole_lines = objects(
    inner | objects(inner) | st.lists(objects(inner), max_size=2).map(lambda some: f"[{','.join(some)}]")
)


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    """A line, sometimes cut short, sometimes with a byte of it replaced."""
    line = draw(whole_lines).encode()
    if draw(st.integers(0, 4)) == 0:
        line = line[: draw(st.integers(0, len(line)))]
    if line and draw(st.integers(0, 4)) == 0:
        at = draw(st.integers(0, len(line) - 1))
        line = line[:at] + draw(st.sampled_from([b"[", b"]", b'"', b"\\", b",", b"\xff", b"5", b"N"])) + line[at + 1 :]
    return line.replace(b"\n", b" ")


@pytest.fixture(autouse=True)
def _short_lines_too() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrays, "MIN_LINE_BYTES", 1)
        patch.setattr(arrays, "MIN_ARRAY_BYTES", 2)
        yield


@pytest.fixture(params=["with simdjson", "without"], autouse=True)
def _with_and_without_simdjson(request: pytest.FixtureRequest) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "without":
            patch.setitem(sys.modules, "simdjson", None)
        yield


def any_key(key: str) -> bool:
    return True


def outcome(read: Any, line: bytes) -> str:
    """What a line decodes to, bit by bit, or why it does not; arrays and lists are told by their values."""
    try:
        record = read(line)
    except Unusable as error:
        return str(error)
    found = []
    for key, value in record.items():
        values = tokens.read_floats(value)
        found.append((key, repr(value) if values is None else values.tobytes()))
    return repr(found)


@given(st.lists(lines(), max_size=3))
def test_a_line_is_what_it_is_when_decoded_whole(some: list[bytes]) -> None:
    cutter = Cutter(parse, any_key)
    for line in some:
        assert outcome(cutter.parse, line) == outcome(parse, line)


@given(st.lists(st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_an_array_of_numbers_is_cut_and_loses_no_bit(values: list[float]) -> None:
    line = json.dumps({"a": {"values": [1]}, "logprobs": values, "reward": 1}).encode()
    record = Cutter(parse, "logprobs".__eq__).parse(line)
    assert isinstance(record["logprobs"], np.ndarray)
    assert record["logprobs"].tobytes() == np.array([float(value) for value in values]).tobytes()
    assert list(record) == ["a", "logprobs", "reward"]


@given(st.lists(lines(), max_size=3))
def test_an_array_whose_length_is_needed_has_that_of_a_line_decoded_whole(some: list[bytes]) -> None:
    cutter = Cutter(parse, any_key, any_key)
    for line in some:
        assert lengths(cutter.parse, line) == lengths(parse, line)


def lengths(read: Any, line: bytes) -> str:
    """The lengths of the lists and arrays of a line by key, and its other values; or why it has none."""
    try:
        record = read(line)
    except Unusable as error:
        return str(error)
    return repr({key: value if (length := tokens.length(value)) is None else length for key, value in record.items()})


def test_an_array_whose_length_is_needed_is_checked_but_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Unusable, match="not JSON"):
        Cutter(parse, any_key, any_key).parse(b'{"a": [1, 2.5.1, 4]}')
    cutter = Cutter(parse, any_key, "a".__eq__)
    monkeypatch.setattr(cutter, "read_numbers", lambda _: pytest.fail("it is read"))
    assert cutter.parse(b'{"a": [1, 2.5, null]}')["a"].shape == (3,)


def test_an_array_of_one_value_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    cutter, read = Cutter(parse, any_key), list[int]()
    plain = cutter.read_numbers

    def reading(data: bytes) -> tokens.Floats:
        read.append(len(data))
        return plain(data)

    monkeypatch.setattr(cutter, "read_numbers", reading)
    record = cutter.parse(json.dumps({"a": [0.1] * 1_000, "b": [0] * 999 + [1], "c": [math.nan] * 5}).encode())
    assert [record[key].tolist() for key in "ab"] == [[0.1] * 1_000, [0.0] * 999 + [1.0]]
    assert np.isnan(record["c"]).tolist() == [True] * 5
    assert read[0] == len("[0.1]") and len(read) == 3
    cutter.parse(json.dumps({"a": [0.1] * 1_000, "b": [0] * 999 + [1], "c": [math.nan] * 5}).encode())
    assert len(read) == 6


@pytest.mark.parametrize(
    ("line", "key", "cut"),
    [
        (b'{"logprobs": [1, 2]}', "logprobs", True),
        (b'{"logprobs":[1,2], "values": {"values": 1}}', "logprobs", True),
        (b'{"x": {"logprobs": [1, 2]}, "logprobs": [3, 4]}', "logprobs", True),
        (b'{"logprobs": [3, 4], "x": {"logprobs": [1, 2]}}', "logprobs", True),
        (b'{"logprobs": [3, 4], "logprobs": [5, 6]}', "logprobs", True),
        (b'{"logprobs": [3, 4], "logprobs": null}', "logprobs", False),
        (b'{"logprobs": [3, 4], "log\\u0070robs": [5, 6]}', "logprobs", True),
        (b'{"logprobs": [[1, 2], [3, 4]]}', "logprobs", False),
        (b'{"logprobs": [1, [2, 3]]}', "logprobs", False),
        (b'{"logprobs": [1, {}]}', "logprobs", False),
        (b'{"logprobs": [1,2, 1,2, 1,2]}', "logprobs", True),
        (b'{"logprobs": [1, null, 2]}', "logprobs", True),
        (b'{"logprobs": [1, null, NaN]}', "logprobs", True),
        (b'{"logprobs": [true, false, -Infinity]}', "logprobs", True),
        (b'{"logprobs": [1, "null"], "values": 1}', "logprobs", False),
        (b'{"a\\"logprobs": [1, 2], "logprobs": "x"}', "logprobs", False),
        (b'{"text": "\\"logprobs\\": [1, 2]", "logprobs": [5, 6]}', "logprobs", True),
        (b'{"text": "NaN, -Infinity", "NaN": "\\ud800", "logprobs": [5, 6]}', "logprobs", True),
        (b'{"text": "\xff", "logprobs": [5, 6]}', "logprobs", True),
    ],
)
@pytest.mark.parametrize("beside", [b"", b', "b": NaN', b', "b": {"NaN": -Infinity}'])
def test_what_is_cut(line: bytes, key: str, cut: bool, beside: bytes) -> None:
    line = line[:-1] + beside + b"}"
    record = Cutter(parse, any_key).parse(line)
    assert isinstance(record[key], np.ndarray) == cut
    assert outcome(Cutter(parse, any_key).parse, line) == outcome(parse, line)
    for known in (b'{"logprobs": [1, 2]}', b'{"values": [1], "logprobs":[1, 2], "b": [3]}'):
        cutter = Cutter(parse, any_key)
        cutter.parse(known)
        assert outcome(cutter.parse, line) == outcome(cutter.parse, line) == outcome(parse, line)


@pytest.mark.parametrize("name", ["rl_logging_board", "generic", "prime_rl"])
@given(data=st.data())
def test_rows_are_those_of_lines_decoded_whole(
    name: str, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / "5.jsonl"
    path.write_bytes(b"\n".join(data.draw(st.lists(lines(), max_size=4))))
    with pytest.MonkeyPatch.context() as patch:
        fast = scan(name, path)
        patch.setattr(arrays, "PATIENCE", 0)
        assert fast == scan(name, path)


def scan(name: str, path: Path) -> list[str]:
    run = RunInfo(name="r", root=str(path), format=name, reason="", parts=(RunPart(str(path)),))
    (source,) = by_name(name).sources(run)
    return [repr(item) for item in by_name(name).scan(run, source, 0, 2**62)]


@pytest.mark.parametrize("name", ["rl_logging_board", "prime_rl"])
@given(data=st.data())
def test_samples_are_those_of_lines_decoded_whole(
    name: str, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / "6.jsonl"
    path.write_bytes(b"\n".join(data.draw(st.lists(lines(), max_size=4))))
    with pytest.MonkeyPatch.context() as patch:
        fast = loaded(name, path)
        patch.setattr(arrays, "PATIENCE", 0)
        assert fast == loaded(name, path)


def loaded(name: str, path: Path) -> list[str]:
    run = RunInfo(name="r", root=str(path), format=name, reason="", parts=(RunPart(str(path)),))
    reader = by_name(name)
    (source,) = reader.sources(run)
    rows = [item for item in reader.scan(run, source, 0, 2**62) if isinstance(item, SampleRow)]
    return [repr(load(reader, run, source, row)) for row in rows]


def test_a_board_row_has_its_means_from_cut_arrays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []

    def read_floats(value: object) -> tokens.Floats | None:
        seen.append(value)
        return read(value)

    read = tokens.read_floats
    monkeypatch.setattr(tokens, "read_floats", read_floats)
    path = tmp_path / "rank.jsonl"
    board = {"prompt": "p", "response": "r", "reward": 1.0, "step": 1}
    path.write_text(json.dumps({**board, "logprobs": [-1.0, -2.0], "ref_logprobs": [-2.0, -2.5]}) + "\n")
    run = RunInfo(name="r", root=str(path), format="rl_logging_board", reason="", parts=(RunPart(str(path)),))
    (source,) = by_name("rl_logging_board").sources(run)
    (row,) = by_name("rl_logging_board").scan(run, source, 0, 2**62)
    assert isinstance(row, SampleRow)
    assert row.metrics["avg_log_ratio"] == 0.75
    assert math.isclose(row.metrics["sum_kl"], math.expm1(1.0) - 1.0 + math.expm1(0.5) - 0.5)
    assert row.response_tokens == 2
    assert any(isinstance(value, np.ndarray) for value in seen)
    assert not any(isinstance(value, list) for value in seen)
