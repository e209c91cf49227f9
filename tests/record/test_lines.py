"""How values become JSON lines, and lines files."""

import json
import math
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolloupe.formats.reading.line_reader import parse
from rolloupe.record.lines import encoded
from rolloupe.storage.atomic import append, replacing, write
from tests.formats.support import texts, values

keys = texts | st.none() | st.integers() | st.tuples(st.integers())


@given(st.dictionaries(keys, values | st.binary() | st.sets(st.integers()), max_size=5), st.booleans())
def test_everything_becomes_one_line_that_can_be_read(record: dict[Any, Any], nan: bool) -> None:
    line = encoded(record, nan=nan)
    assert line.count(b"\n") == 1 and line.endswith(b"\n")
    assert isinstance(parse(line[:-1]), dict)
    if not nan:
        json.loads(line, parse_constant=pytest.fail)


def test_what_is_no_json_is_made_so() -> None:
    deep: Any = 1
    for _ in range(5000):
        deep = [deep]
    record = {
        "a": np.float32(0.5), "b": np.array([[1, 2]]), "c": b"secret", "d": object(), "e": 10**9999, "f": {1: {2}},
        "g": deep, "h": [math.nan, -math.inf], "i": np.array([math.nan]), "\ud800": "\udfff", "j": np.bool_(1),
    }  # fmt: skip
    found = json.loads(encoded(record))
    assert found | {"g": 0} == {
        "a": 0.5, "b": [[1, 2]], "c": "bytes", "d": "object", "e": None, "f": {"1": [2]}, "g": 0, "h": [None, None],
        "i": [None], "\ud800": "\udfff", "j": True,
    }  # fmt: skip
    assert b"NaN, -Infinity" in encoded(record, nan=True) and b"secret" not in encoded(record, nan=True)


def test_a_file_is_whole_or_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "deep/file"
    write(path, b"old\n")

    def break_off() -> None:
        with replacing(path) as file:
            file.write(b"new\n")
            raise KeyError

    with pytest.raises(KeyError):
        break_off()
    assert path.read_bytes() == b"old\n" and [one.name for one in path.parent.iterdir()] == ["file"]


def test_lines_of_several_threads_are_not_mixed(tmp_path: Path) -> None:
    path = tmp_path / "file"

    def append_often(line: bytes) -> None:
        for _ in range(20):
            append(path, line)

    lines = [bytes([65 + n]) * 5000 + b"\n" for n in range(8)]
    threads = [threading.Thread(target=append_often, args=(one,)) for one in lines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = [line for line in path.read_bytes().splitlines(keepends=True) if line != b"\n"]
    assert sorted(found) == sorted(lines * 20)


def test_what_was_torn_is_ended_first(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"torn")
    append(path, b"a\n")
    append(path, b"")
    append(path, b"b\n")
    assert path.read_bytes() == b"torn\na\nb\n"
    assert os.stat(path).st_mode & 0o600 == 0o600
