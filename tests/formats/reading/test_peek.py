"""A look at the beginning of a file reads the first keys even where the line is cut."""

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rolloupe.formats.reading import peek as sniff
from rolloupe.formats.reading.files import alone
from rolloupe.formats.reading.line_reader import replace_lone_surrogates
from tests.formats.support import records, write

KEYS = ["prompt", "response", "reward"]


@given(records(KEYS), st.booleans(), st.data())
def test_of_an_object_that_is_cut_the_first_keys_are_seen(
    record: dict[str, Any], ascii: bool, data: st.DataObject
) -> None:
    line = json.dumps(record, ensure_ascii=ascii).encode("utf-8", "replace")
    cut = data.draw(st.integers(0, len(line)))
    seen = sniff.first_keys(line[:cut])
    whole = json.loads(replace_lone_surrogates(line.decode()))
    assert list(seen) == list(whole)[: len(seen)] or len(whole) < len(record)
    for key in list(seen)[:-1]:
        assert repr(seen[key]) == repr(whole[key])


def test_of_a_value_that_is_cut_the_kind_is_seen() -> None:
    assert sniff.first_keys(b'{"a": 1, "b": [{"role": "us') == {"a": 1, "b": [{}]}
    assert sniff.first_keys(b'{"a": "tex') == {"a": "tex"}
    assert sniff.first_keys(b'{"a": -1') == {"a": -1}
    assert sniff.first_keys(b'{"a":') == {"a": None}
    assert sniff.first_keys(b'{"a') == {}
    assert sniff.first_keys(b"[1, 2") == {}


def test_keys_behind_a_long_text_are_seen(tmp_path: Path) -> None:
    row = {"prompt": "p", "response": "x" * 300_000, "reward": 1.0, "step": 1, "logprobs": [0.5] * 300_000}
    seen = sniff.look(alone(write(tmp_path / "f.jsonl", row, {"a": 1})))
    assert seen.whole and [list(one) for one in seen.objects] == [list(row)]
    seen = sniff.look(alone(write(tmp_path / "f.json", row)))
    assert not seen.whole and list(seen.objects[0]) == list(row), "of another file a MiB"


def test_of_a_line_without_end_the_first_keys_are_seen(tmp_path: Path) -> None:
    row = {"prompt": "p", "response": "x" * sniff.MAX_LINE_BYTES, "reward": 1.0}
    seen = sniff.look(alone(write(tmp_path / "f.jsonl", row)))
    assert not seen.whole and list(seen.objects[0]) == ["prompt", "response"]


def test_a_file_that_changed_is_looked_at_again(tmp_path: Path) -> None:
    path = tmp_path / "f.jsonl"
    path.touch()
    assert sniff.look(alone(path)).empty
    write(path, {"a": 1})
    assert sniff.look(alone(path)).objects == ({"a": 1},)


def test_a_malformed_first_line_does_not_hide_the_second(tmp_path: Path) -> None:
    path = tmp_path / "f.jsonl"
    path.write_bytes(b'\xef\xbb\xbf\n{"a": \n{"b": 1}\n')
    assert sniff.look(alone(path)).objects == ({"b": 1},)


def test_what_is_remembered_is_small(tmp_path: Path) -> None:
    path = write(tmp_path / "f.jsonl", {"text": "x" * 100_000, "list": list(range(10_000)), "deep": [[[[[[[1]]]]]]]})
    (seen,) = sniff.look(alone(path)).objects
    assert len(json.dumps(seen)) < 400


def test_of_many_files_a_few_from_both_ends_are_looked_into(tmp_path: Path) -> None:
    paths = [alone(write(tmp_path / f"{n:04}.jsonl", {"n": n})) for n in range(40)]
    assert [seen.objects[0]["n"] for seen in sniff.first_looks(paths).values()] == [0, 1, 39, 38]
    (tmp_path / "0000.jsonl").write_bytes(b"")
    assert len(sniff.first_looks(paths[:3])) == 2


def test_what_is_gone_is_trouble(tmp_path: Path) -> None:
    assert "No such file" in sniff.look(alone(tmp_path / "gone")).trouble
