"""Whatever a file of JSON lines holds: nothing raises, no good line is lost, every bad one is listed with its bytes.

`test_contract.py` damages files of other kinds, and `test_two_writers.py` changes all of them while they are read.
"""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import groupby, pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rolloupe.errors import SourceChanged
from rolloupe.formats import by_name
from rolloupe.formats.generic.keys import USUAL
from rolloupe.formats.reading import jsonl, line_reader
from rolloupe.formats.reading.line_reader import BLANK, BOM
from rolloupe.formats.reading.records import Unusable
from rolloupe.model import Locator, Problem, RunInfo, RunPart, SampleRow, Scanned, Source
from tests.formats.examples import LINES, records_of
from tests.formats.support import as_line, expected_lines, files_of, garbage, load, records, write
from tests.formats.test_describe import section_of
from tests.thoroughness import amount

STEPS = {"iteration", "step", "rollout_id", "export_step"}
"""A line whose step is not an integer is a problem."""

LOOSE = {
    "tinker": {"total_reward": 1}, "native": {"uid": "u"}, "relax": {"reward": 1}, "prime_rl": {"token_ids": [1]},
    "rl_logging_board": {"reward": 1}, "generic": {"prompt": "p", "response": "r", "score": 1},
}  # fmt: skip
"""Formats that a line with little suffices for, whatever else it holds, and how little."""

NEEDED: dict[str, set[str]] = {
    "tinker": {"total_reward", "steps", "traj_idx"},
    "native": {"uid", "step", "prompt", "response", "reward"},
    "relax": set(),
    "prime_rl": {"token_ids", "tokens"},
    "rl_logging_board": {"prompt", "response", "reward"},
    "generic": {*USUAL["prompt"], *USUAL["response"], *USUAL["score"], "messages"},
}
"""An object without any of these keys is not a sample of such a format, and is listed."""

LISTS = ("trajectories", "completion", "responses", "traces", "trajectory_data")
"""Keys of the samples of a line, in formats whose lines hold several."""

GOOD = {name: records_of(name) for name in LINES}
"""Records of each format's example."""


def keys_of(name: str) -> list[str]:
    """The keys that a format documents, and those of its example."""
    rows = re.findall(r"^\| (.*?) \|", section_of(name), re.MULTILINE)
    documented = (key for keys in rows for key in re.findall(r"`(\w+)[`.\[]", keys))
    return sorted({*documented, *(key for record in GOOD[name] for key in record)})


KEYS = {name: keys_of(name) for name in LINES}

COMPRESSED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")
"""How files of gzip and zstd begin, which no file of lines is taken for."""

by_format = pytest.mark.parametrize("name", LINES)
by_loose_format = pytest.mark.parametrize("name", LOOSE)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("run") / "5.jsonl"


def run_of(name: str, path: Path) -> tuple[RunInfo, Source]:
    run = RunInfo(name="r", root=str(path), format=name, reason="", parts=(RunPart(str(path)),))
    (source,) = by_name(name).sources(run)
    return run, source


def scan(name: str, path: Path, start: int = 0, stop: int = 2**62) -> list[Scanned]:
    run, source = run_of(name, path)
    return list(by_name(name).scan(run, source, start, stop))


def span(item: Scanned) -> tuple[int, int]:
    if not isinstance(item, Problem):
        return item.start, item.start + item.length
    assert item.start is not None
    assert item.stop is not None
    return item.start, item.stop


def spans(found: list[Scanned], lines: Iterable[tuple[int, int]] = ()) -> list[tuple[int, int]]:
    """The lines of some items, each once: a line may hold several samples, or several objects."""
    return [one for one, _ in groupby(line_of(item, lines) for item in found)]


def line_of(item: Scanned, lines: Iterable[tuple[int, int]]) -> tuple[int, int]:
    """The line that an item lies in."""
    start, stop = span(item)
    return next((line for line in lines if line[0] <= start and stop <= line[1]), (start, stop))


@by_format
@settings(max_examples=amount(4, 200))
@given(data=st.data())
def test_every_line_is_rows_or_a_problem_wherever_a_file_is_cut(name: str, path: Path, data: st.DataObject) -> None:
    content = data.draw(files_of(KEYS[name]))
    path.write_bytes(content)
    found = scan(name, path)
    check_lines(name, content, found)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(content) + 2), max_size=6)))
    edges = [0, *cuts, len(content) + 3]
    parts = [item for a, b in pairwise(edges) for item in scan(name, path, a, b)]
    assert repr(parts) == repr(found)
    cut = data.draw(st.integers(0, len(content)))
    path.write_bytes(content[:cut])
    check_whole_lines(found, scan(name, path), content[:cut])


def check_lines(name: str, content: bytes, found: list[Scanned]) -> None:
    """Check that each line is rows, or a problem in its place."""
    lines = {(start, stop): good for start, stop, good in expected_lines(content)}
    empty = {(start, stop) for start, stop in lines if content[start:stop].strip(BOM + BLANK) in jsonl.OF_ARRAY}
    assert lines.keys() - {*spans(found, lines)} <= {*empty_columns(content, lines), *empty}
    assert {*spans(found, lines)} <= lines.keys() and spans(found, lines) == sorted(spans(found, lines))
    for item in found:
        start, stop = line_of(item, lines)
        if isinstance(item, Problem):
            assert item.reason and "defect" not in item.reason and " failed: " not in item.reason
            is_last = not content[span(item)[1] : stop].strip(BLANK)  # of the objects on its line
            assert item.transient == (is_last and stop == len(content))
            is_step = "2^53" in item.reason or "is not an integer" in item.reason
            is_step = is_step or "for one response" in item.reason or "responses, but" in item.reason
            if name in LOOSE and lines[start, stop] and not is_step:
                record = line_reader.parse(line_reader.strip_bom(content[start:stop], start))
                is_prompt = "a prompt without a response" in item.reason
                assert "not a sample" in item.reason and (is_prompt or not NEEDED[name] & record.keys())
        else:
            line = line_reader.strip_bom(content[start:stop], start)
            assert lines[start, stop] or line_reader.pieces_in(line).objects or line_reader.parse(line) is not None


def check_whole_lines(whole: list[Scanned], found: list[Scanned], left: bytes) -> None:
    """Check that what is left of a file that was cut off has its whole lines, and at most one that may pass."""
    ended = [item for item in whole if span(item)[1] < len(left)]
    assert repr(found[: len(ended)]) == repr(ended)
    last = left[left.rfind(b"\n") + 1 :]
    assert len(spans(found[len(ended) :])) <= 1 or line_reader.pieces_in(last).objects
    for item in found[len(ended) :]:
        assert not isinstance(item, Problem) or item.transient


def empty_columns(content: bytes, lines: dict[tuple[int, int], bool]) -> Iterator[tuple[int, int]]:
    """The lines whose columns or lists of samples are empty: nothing need be wrong with them."""
    for (start, stop), good in lines.items():
        record = line_reader.parse(line_reader.strip_bom(content[start:stop], start)) if good else {}
        if any(
            record.get(key) == [] for key in ("trajectories", "completion", "responses", "traces", "trajectory_data")
        ):
            yield start, stop


@by_format
@settings(max_examples=amount(4, 200))
@given(data=st.data())
def test_no_good_line_is_lost_among_bad_ones(name: str, path: Path, data: st.DataObject) -> None:
    good = [json.dumps(record).encode() for record in GOOD[name]]
    path.write_bytes(b"\n".join(good) + b"\n")
    alone = [content_of(item) for item in scan(name, path)]
    lines = garbage.filter(lambda line: b"\n" not in line and not line.startswith(COMPRESSED))
    bad = data.draw(st.lists(lines, min_size=len(good), max_size=len(good)))
    path.write_bytes(b"".join(b"%b\n%b\n" % pair for pair in zip(bad, good, strict=True)))
    rows = [content_of(item) for item in scan(name, path) if isinstance(item, SampleRow)]
    assert [row for row in rows if row in alone] == alone and alone


def content_of(item: Scanned) -> tuple[object, ...]:
    """What a row says, but for its place."""
    assert isinstance(item, SampleRow)
    return item.split, item.step, item.reward, item.prompt, item.response, item.uid, item.part


@by_format
def test_a_foreign_key_is_shown(name: str, path: Path) -> None:
    write(path, GOOD[name][0] | {"some foreign key": {"odd": ["value"]}})
    run, source = run_of(name, path)
    first = next(iter(scan(name, path)))
    assert isinstance(first, SampleRow)
    assert "some foreign key': {'odd': ['value']}" in repr(load(by_name(name), run, source, first).extra)


@by_format
@settings(max_examples=amount(4, 200))
@given(data=st.data())
def test_every_row_loads_and_can_be_sent(name: str, path: Path, data: st.DataObject) -> None:
    record = data.draw(records(KEYS[name]))
    path.write_bytes(as_line(record, data.draw(st.booleans())) + b"\n")
    run, source = run_of(name, path)
    for item in by_name(name).scan(run, source, 0, 2**62):
        if not isinstance(item, SampleRow):
            continue
        assert isinstance(item.step, int)
        assert abs(item.step) < 2**63
        assert abs(item.ordinal) < 2**63
        sample = load(by_name(name), run, source, item)
        assert repr(sample.row) == repr(item)
        repr(sample).encode("utf-8")
        json.dumps(sample.extra, ensure_ascii=False).encode("utf-8")
        for text in (
            item.split,
            item.group,
            item.index,
            item.prompt,
            item.response,
            *item.metrics,
            *item.tags.values(),
        ):
            text.encode("utf-8")
        assert len({len(one.values) for one in sample.series}) <= 1 or name not in LOOSE or name == "generic"


@by_loose_format
def test_every_member_of_a_row_but_its_step_is_shown_somewhere(name: str, path: Path) -> None:
    keys = set(KEYS[name]) - STEPS
    odd = {key: {"odd": [key]} for key in keys} | {"prompt": "p", "response": "r", "other": [1], "none": None}
    write(path, odd)
    run, source = run_of(name, path)
    (row,) = scan(name, path)
    assert isinstance(row, SampleRow)
    sample = load(by_name(name), run, source, row)
    shown = repr(sample.extra) + sample.label + repr(sample.ref_turns)
    for key in keys:
        if key not in ("prompt", "response"):
            assert f"'odd': ['{key}']" in shown or f'"odd": ["{key}"]' in shown, key
    assert sample.extra["none"] is None


@by_loose_format
def test_a_line_that_is_too_long_is_listed_and_stays_readable(
    name: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_reader, "MAX_LINE_BYTES", 300)
    monkeypatch.setattr(line_reader, "BLOCK_BYTES", 64)
    long = {"prompt": "p", "response": "x" * 1000, "reward": 1, "total_reward": 1, "token_ids": [1]}
    write(
        path,
        {"prompt": "p", "response": "a", "reward": 1, "total_reward": 1, "token_ids": [1]},
        long,
        {"prompt": "p", "response": "b", "reward": 2, "total_reward": 2, "token_ids": [1]},
    )
    first, problem, last = scan(name, path)
    assert isinstance(first, SampleRow)
    assert isinstance(last, SampleRow)
    assert isinstance(problem, Problem)
    assert "longer than" in problem.reason
    start, stop = span(problem)
    _, source = run_of(name, path)
    raw = by_name(name).raw(source, Locator(source=source.name, start=start, length=stop - start))
    assert json.loads(raw) == long
    inside = scan(name, path, start + 1, stop)
    assert inside == []
    assert repr(scan(name, path, start, start + 1)) == repr([problem])


@by_loose_format
def test_a_line_of_the_greatest_length_is_read(name: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(path, {"prompt": "p", "response": "xyz", "reward": 1, "total_reward": 1, "token_ids": [1]})
    size = path.stat().st_size
    monkeypatch.setattr(line_reader, "MAX_LINE_BYTES", size - 1)
    assert isinstance(scan(name, path)[0], SampleRow)
    monkeypatch.setattr(line_reader, "MAX_LINE_BYTES", size - 2)
    assert isinstance(scan(name, path)[0], Problem)


@by_loose_format
def test_a_last_line_without_its_end_is_a_row_once_it_is_whole(name: str, path: Path) -> None:
    path.write_bytes(b'{"prompt": "p", "response": "r", "reward": 1, "total_reward": 1, "token_ids": [1]')
    (problem,) = scan(name, path)
    assert isinstance(problem, Problem)
    assert problem.transient
    with path.open("ab") as file:
        file.write(b"}")
    (row,) = scan(name, path)
    assert isinstance(row, SampleRow)


def test_a_git_lfs_pointer_is_said_to_be_one(path: Path) -> None:
    path.write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:0a1b\nsize 12345\n")
    for name in LINES:
        (problem,) = scan(name, path)
        assert isinstance(problem, Problem), name
        assert "not downloaded" in problem.reason, name
        assert scan(name, path, 10, 100) == [], name


@by_loose_format
def test_a_locator_that_no_longer_fits_is_refused(name: str, path: Path) -> None:
    record = {"prompt": "p", "response": "r", "reward": 1, "total_reward": 1, "token_ids": [1]}
    write(path, record, record)
    run, source = run_of(name, path)
    _, second = scan(name, path)
    assert isinstance(second, SampleRow)
    for content in (b"", b"x" * 400, path.read_bytes().replace(b'"r"', b'"rr"'), path.read_bytes().replace(b"}", b"]")):
        path.write_bytes(content)
        with pytest.raises(SourceChanged, match="no longer holds"):
            load(by_name(name), run, source, second)
    path.unlink()
    with pytest.raises(SourceChanged, match="No such file"):
        load(by_name(name), run, source, second)


REPLACED = {
    b"\xff": ["bytes that are not valid UTF-8 are shown as \ufffd"],
    rb"\ud83d": ["halves of surrogate pairs are shown as \ufffd"],
    rb"\ud83d\ude00": [],
}
"""Responses, and what is noted of what was replaced in them."""


@by_loose_format
def test_what_was_replaced_is_noted(name: str, path: Path) -> None:
    ours = ("logged no text", "token ids", "loss_mask")
    for response, notes in REPLACED.items():
        members = b'"reward": 1, "total_reward": 1, "token_ids": [1], "step": 0'
        path.write_bytes(b'{"prompt": "p", "response": "%b", %b}\n' % (response, members))
        run, source = run_of(name, path)
        (row,) = scan(name, path)
        assert isinstance(row, SampleRow)
        said = load(by_name(name), run, source, row).notes
        assert [one for one in said if not any(word in one for word in ours)] == notes, response


@given(st.binary(max_size=60), st.integers(0, 70), st.integers(0, 70))
def test_lines_end_at_newline_bytes_alone(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, a: int, b: int
) -> None:
    file = tmp_path_factory.getbasetemp() / "lines"
    file.write_bytes(data)
    with file.open("rb") as opened:
        found = [(line.start, line.data) for line in line_reader.lines(opened, a, b)]
    starts = [0, *(n + 1 for n, byte in enumerate(data) if byte == 10)]
    expected = [(s, data[s:].split(b"\n")[0]) for s in starts if a <= s < b and s < len(data)]
    assert found == expected


@pytest.mark.parametrize(
    ("line", "value"),
    [
        (rb'{"a": "\ud83d\ude00"}', "\U0001f600"),
        (rb'{"a": "\ud83d\ud83d\ude00"}', "\ufffd\U0001f600"),
        (rb'{"a": "\ude00\ud83d"}', "\ufffd\ufffd"),
        (rb'{"a": "\\ud83d"}', r"\ud83d"),
        (rb'{"a": "\\\ud83d\n"}', "\\\ufffd\n"),
        (b'{"a": "\xff"}', "\ufffd"),
        (b'{"a": 1, "a": 2}', 2),
        (b'{"a": -Infinity}', float("-inf")),
        (b'{"a": 1e400}', float("inf")),
        (b'{"a": 123456789012345678901234567890}', 123456789012345678901234567890),
    ],
)
def test_odd_values_are_read_as_python_reads_them(line: bytes, value: object) -> None:
    assert line_reader.parse(line) == {"a": value}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"null", "not a JSON object but null"),
        (b"[]", "not a JSON object but an array"),
        (b"NaN", "not a JSON object but a number"),
        (b"true", "not a JSON object but true or false"),
        (b'{"a" 1}', r"not JSON: Expecting ':' delimiter \(character 5 of the line\)"),
        (b'{"a": ' + b"9" * 5000 + b"}", "more digits"),
        (b'{"a": ' + b"[" * 200_000, "nested too deeply"),
    ],
)
def test_a_bad_line_says_why(line: bytes, reason: str) -> None:
    with pytest.raises(Unusable, match=reason):
        line_reader.parse(line)
