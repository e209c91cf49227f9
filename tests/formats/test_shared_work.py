"""Small records of plain logs that ask for much work, and what they must not cost the rows beside them."""

import io
import json
import os
import time
from io import BufferedReader
from pathlib import Path
from typing import Any

import pytest

from rolloupe.formats import by_name, discover, unreadable
from rolloupe.formats.generic import rows as generic_rows
from rolloupe.formats.generic import shapes
from rolloupe.formats.generic.documents import rows_in
from rolloupe.formats.generic.keys import KEPT_BYTES, KEPT_LARGE, KEY_BYTES, keep_by_keys
from rolloupe.formats.generic.keys import candidates as keys_of
from rolloupe.formats.generic.shapes import samples_in
from rolloupe.formats.reading import jsonl, peek, stream
from rolloupe.formats.reading.field_map import Fields
from rolloupe.formats.reading.line_reader import parse, value_of
from rolloupe.formats.reading.records import Unusable
from rolloupe.model import Location, Locator, Problem, Reading, Sample, SampleRow
from tests.formats.support import items, only_run, samples

GOOD = {"prompt": "p", "response": "r", "reward": 1.0}
NUMBER = 5_000


@pytest.mark.parametrize(
    "shared",
    [
        {"prompt": "q", "metrics": {f"k{n}": n for n in range(NUMBER)}},
        {"prompt": [{"role": "user", "content": "x" * 100_000}]},
    ],
    ids=["metrics", "messages"],
)
def test_samples_share_bounded_objects(shared: dict[str, object]) -> None:
    record = shared | {"responses": ["a"] * NUMBER, "rewards": [1.0] * NUMBER}
    with pytest.raises(Unusable, match="share too much"):
        samples_in(record)
    small = record | {"responses": ["a"] * 4, "rewards": [1.0] * 4}
    assert len(samples_in(small)) == 4


@pytest.mark.parametrize("fields", [(), (("response", "out"), ("reward", "grade"))])
def test_an_unchanged_file_without_samples_is_opened_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fields: Fields
) -> None:
    names = ("out", "grade") if fields else ("response", "reward")
    (tmp_path / "good.jsonl").write_text(json.dumps({"prompt": "p", names[0]: "r", names[1]: 1}))
    others = [tmp_path / f"other{'ab'[n % 2]}_{n}.jsonl" for n in range(300)]
    for place in others:
        place.write_text('{"foo": 1}\n')
    run = only_run(tmp_path, fields=fields)
    reader = by_name(run.format)
    assert [source.name for source in reader.sources(run)] == ["good.jsonl"]
    opened: list[str] = []
    real = stream.open_binary

    def counted(place: Location) -> BufferedReader:
        opened.append(place.path)
        return real(place)

    for module in (peek, generic_rows, unreadable):
        monkeypatch.setattr(module, "open_binary", counted)
    assert [source.name for source in reader.sources(run)] == ["good.jsonl"]
    assert {*opened} <= {str(tmp_path / "good.jsonl")}
    discover([tmp_path], Reading(fields=fields))
    opened.clear()
    discover([tmp_path], Reading(fields=fields))
    assert {*opened} <= {str(tmp_path / "good.jsonl")} | {str(place) for place in others}
    assert len(opened) < 50
    opened.clear()
    others[3].write_text(json.dumps({"prompt": "p", names[0]: "another", names[1]: 0}))
    assert [source.name for source in reader.sources(run)] == ["good.jsonl", others[3].name]
    assert {*opened} <= {str(others[3]), str(tmp_path / "good.jsonl")} and str(others[3]) in opened


def test_what_many_keys_say_is_found_once_for_all_samples_that_share_them() -> None:
    asked: list[int] = []

    @keep_by_keys
    def count(keys: tuple[str, ...]) -> int:
        asked.append(len(keys))
        return len(keys)

    def call(number: int) -> int:
        return count(tuple(f"key {n}" for n in range(number)))

    assert [call(5_000) for _ in range(9)] == [5_000] * 9 and asked == [5_000]
    assert [call(5_001 + n) for n in range(KEPT_LARGE)] and call(5_000) and asked.count(5_000) == 2, "a few are kept"
    too_many = KEPT_BYTES // KEY_BYTES
    assert call(too_many) == call(too_many) and asked.count(too_many) == 2, "their size is bounded"


def test_many_lists_of_objects_take_time_in_proportion() -> None:
    record = {f"k{n}z": [{"response": "a"}] for n in range(4_000)} | {"reward": 1.0, "response": "a"}
    began = time.process_time()
    assert samples_in(record) == [record]
    assert time.process_time() - began < 1.5


def test_blanks_behind_many_objects_of_a_line_take_time_in_proportion() -> None:
    data = json.dumps(GOOD).encode() + b" "
    began = time.process_time()
    assert len([*rows_in(io.BytesIO(data * 3_000 + b" " * 2_000_000), ".json")]) == 3_000
    assert time.process_time() - began < 5


def test_halves_of_surrogate_pairs_in_printed_objects_and_cells_become_replacements() -> None:
    found = parse(rb"{'response': '\ud800', '\udc00': 1}")
    assert found == {"response": "\ufffd", "\ufffd": 1}
    assert value_of(r'["\ud800"]') == ["\ufffd"] == value_of(r"['\ud800']")


def test_printed_objects_with_many_keys_that_share_a_hash_are_not_read() -> None:
    texts, numbers = ({f"k{n}": n for n in range(2_000)}, {n * (2**61 - 1): n for n in range(2_000)})
    assert parse(repr(texts).encode()) == texts
    assert parse(repr(dict.fromkeys([*numbers][:5], 1)).encode()) == {str(n): 1 for n in [*numbers][:5]}
    for hostile in (numbers, {"a": {*numbers}}, {"a": [{"b": numbers}]}):
        with pytest.raises(Unusable):
            parse(repr(hostile).encode())


def test_a_defect_at_one_row_of_a_document_costs_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(record: dict[str, object], _named: Fields) -> list[dict[str, object]]:
        if record.get("response") == "bad":
            raise RecursionError
        return samples_in(record)

    path = tmp_path / "run.json"
    path.write_text(json.dumps([GOOD, GOOD | {"response": "bad"}, GOOD]), "utf-8")
    run = only_run(path)
    monkeypatch.setattr(generic_rows, "samples_in", failing)
    found = items(run)
    assert [isinstance(one, SampleRow) for one in found] == [True, False, True]


@pytest.mark.parametrize("ending", [".json", ".jsonl"])
def test_a_sample_of_a_record_is_not_divided_when_it_is_loaded(tmp_path: Path, ending: str) -> None:
    record = {"completion_0": "x", "completion_1": "y", "reward_0": 1.0, "reward_1": 2.0, "output": ["a", "b"]}
    path = tmp_path / f"run{ending}"
    lines = [json.dumps(one) for one in (GOOD, record)]
    path.write_text(f"[{','.join(lines)}]" if ending == ".json" else "\n".join(lines), "utf-8")
    run = only_run(path)
    found = [one for one in items(run) if isinstance(one, SampleRow)]
    assert [one.row.response for one in samples(run)] == [one.response for one in found]


def test_the_samples_of_many_tasks_take_time_in_proportion() -> None:
    tasks = {f"t{n}": [{"response": f"{n} {k}", "reward": 0.5} for k in range(1 + n % 2)] for n in range(10_000)}
    began = time.process_time()
    assert len(samples_in(tasks)) == 15_000
    assert time.process_time() - began < 1.5


def test_too_many_samples_by_id_are_refused_before_they_are_divided_and_it_says_what_to_do(tmp_path: Path) -> None:
    few = {f"t{n}": GOOD for n in range(1_000)}
    many = {f"t{n}": GOOD for n in range(10_001)}
    assert len(samples_in(few)) == 1_000
    looked: list[int] = []

    def counted(keys: tuple[str, ...]) -> Any:
        looked.append(len(keys))
        return keys_of(keys)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shapes, "MAX_SAMPLES", 10_000)
        patch.setattr(shapes, "candidates", counted)
        with pytest.raises(
            Unusable, match=r"10,001 samples in one record; at most 10,000 are read\. Next: write a line"
        ):
            samples_in(many)
        assert max(looked, default=0) < 10_001
        path = tmp_path / "run" / "run.json"
        path.parent.mkdir()
        path.write_text(json.dumps(many), "utf-8")
        for place in (path, path.parent):
            (note,) = discover([place]).notes
            assert "10,001 samples in one record" in note.reason and "Next: write a line for each sample" in note.reason


@pytest.mark.parametrize("ending", [".json", ".jsonl"])
def test_a_record_is_read_once_for_all_samples_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    record = {"prompt": "?", "responses": [str(one) for one in range(50)], "rewards": [1.0] * 50, "logprobs": [-1.0]}
    path = tmp_path / f"run{ending}"
    path.write_text(json.dumps(record, indent=1 if ending == ".json" else None), "utf-8")
    run = only_run(path)
    rows = [one for one in items(run) if isinstance(one, SampleRow)]
    (source,) = by_name(run.format).sources(run)
    places = [Locator(source=source.name, start=row.start, length=row.length, part=row.part) for row in rows]
    seen: list[bytes] = []
    read = {name: getattr(generic_rows, name) for name in ("row_in", "parse")}

    def counted(name: str) -> Any:
        def call(data: bytes, *more: Any) -> Any:
            seen.append(data)
            return read[name](data, *more)

        return call

    for name in read:
        monkeypatch.setattr(generic_rows, name, counted(name))
    found = list(by_name(run.format).samples_at(run, source, places))
    assert [one.response_text for one in found if isinstance(one, Sample)] == [row.response for row in rows]
    assert len(rows) == 50 and len(seen) == 1
    assert not any(isinstance(one, Problem) for one in by_name(run.format).token_arrays(run, source, places))


def test_samples_of_one_line_are_given_the_same_bytes(tmp_path: Path) -> None:
    """So their hash is computed once, and no comparison looks at them."""
    path = tmp_path / "run.jsonl"
    lines = [b'{"a": 1}', b'{"b": 22}']
    path.write_bytes(b"\n".join(lines))
    places = [Locator(source="", start=0, length=8, part=str(part)) for part in range(3)]
    places += [Locator(source="", start=9, length=9, part=str(part)) for part in range(2)]
    with path.open("rb") as file:
        read = list(jsonl.lines_of_samples(file, places))
    assert read == [lines[0]] * 3 + [lines[1]] * 2 and len({id(one) for one in read}) == 2


def test_a_document_that_changed_is_divided_again(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    for answer in ("aa", "bb"):
        path.write_text(json.dumps({"prompt": "?", "responses": [answer, "c"], "rewards": [1, 0]}, indent=1), "utf-8")
        os.utime(path, ns=(0, ord(answer[0])))
        run = only_run(path)
        assert [one.response_text for one in samples(run)] == [answer, "c"]
