"""Runs read whole, and awkward rows and files made up for property tests."""

import json
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from rolloupe.formats import by_name, discover
from rolloupe.formats import testing as contract
from rolloupe.formats.base import Format
from rolloupe.formats.reading.line_reader import BLANK, BOM
from rolloupe.model import Locator, Problem, Reading, RunInfo, Sample, SampleRow, Scanned, Source
from tests.thoroughness import amount


def limit_contract() -> None:
    """Have the contract of formats look at fewer places of an example in `make test`."""
    for limit, quick in (("MAX_LOADED", 6), ("MAX_CUTS", 6), ("MAX_VALUES", 24), ("MAX_DAMAGES", 2)):
        setattr(contract, limit, amount(quick, getattr(contract, limit)))


def only_run(path: Path, **options: Any) -> RunInfo:
    """The one run at a path."""
    (run,) = discover([path], Reading(**options)).runs
    return run


def items(run: RunInfo) -> list[Scanned]:
    """Everything that scans of a run's sources yield."""
    reader = by_name(run.format)
    return [item for source in reader.sources(run) for item in reader.scan(run, source, 0, 2**62)]


def rows(run: RunInfo) -> list[SampleRow]:
    """The rows of a run that has no problems."""
    found = items(run)
    assert not [item for item in found if isinstance(item, Problem)]
    return [item for item in found if isinstance(item, SampleRow)]


def samples(run: RunInfo) -> list[Sample]:
    """Every sample of a run, loaded by its locator."""
    reader = by_name(run.format)
    return [
        load(reader, run, source, item)
        for source in reader.sources(run)
        for item in reader.scan(run, source, 0, 2**62)
        if isinstance(item, SampleRow)
    ]


def load(reader: Format, run: RunInfo, source: Source, row: SampleRow) -> Sample:
    """The sample of one row."""
    return reader.load(run, source, Locator(source=source.name, start=row.start, length=row.length, part=row.part))


def mean_reward(some: list[SampleRow]) -> float:
    """The mean over rewards that are there."""
    rewards = [row.reward for row in some if row.reward is not None]
    return sum(rewards) / len(rewards)


def write(path: Path, *records: dict[str, Any]) -> Path:
    """Write records as JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(json.dumps(record).encode() + b"\n" for record in records))
    return path


numbers = st.one_of(
    st.integers(-5, 50),
    st.floats(),
    st.sampled_from([2**63, -(2**63), 10**400, -(10**400), 1e308, True, False]),
)
texts = st.one_of(
    st.sampled_from(["", "3", "<PAD>", "NaN", "completed", "a" * 300, "<|im_start|>user\nhi<|im_end|>"]),
    st.text(st.characters(exclude_categories=()), max_size=12),
)
leaves = st.one_of(st.none(), numbers, texts)
messages = st.lists(
    st.fixed_dictionaries({}, optional={"role": leaves, "content": leaves, "tool_calls": leaves}), max_size=3
)
values = st.one_of(
    leaves,
    messages,
    st.lists(numbers, max_size=4),
    st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=5
    ),
)


def records(keys: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with any of some keys, and others, and values of right and wrong types."""
    return st.dictionaries(st.sampled_from(keys) | texts, values, max_size=9)


def as_line(record: dict[str, Any], ascii: bool) -> bytes:
    """A record as one line, its lone surrogates as escapes or as bytes that are not UTF-8."""
    return json.dumps(record, ensure_ascii=ascii).encode("utf-8", "surrogatepass")


garbage = st.one_of(
    st.binary(max_size=20),
    st.sampled_from(
        [
            b"", b" \t", b"\r", b"null", b"[1, 2]", b'"text"', b"12", b"{", b'{"a": }', b"\xff\xfe", b'{"a": "\xff"}',
            b"\x00" * 9, b"<PLACEHOLDER ROW>", b'{"a": 1}{"b": 2}', b'{"a": "\\ud800"}', b"{'a': 1}", b'{"a": 1,}',
            b'{"a": ' + b"[" * 20_000 + b"]" * 20_000 + b"}", b'{"a": 1' + b"0" * 5000 + b"}",
            b'{"reward": 1e400, "response": "x"}', b'\xef\xbb\xbf{"a": 1}',
        ]
    ),
)  # fmt: skip


def files_of(keys: list[str]) -> st.SearchStrategy[bytes]:
    """Files of such records, with garbage between them, with or without a byte order mark and a last newline."""
    line = st.builds(as_line, records(keys), st.booleans()) | garbage
    joined = st.lists(line, max_size=8).map(b"\n".join)
    return st.builds(
        lambda bom, body, end: bom + body + end, st.sampled_from([b"", BOM]), joined, st.sampled_from([b"", b"\n"])
    )


def expected_lines(data: bytes) -> list[tuple[int, int, bool]]:
    """Byte range of every line that is not blank, and whether Python's `json` reads an object from it."""
    found = []
    start = 0
    for line in data.split(b"\n"):
        content = line.removeprefix(BOM) if start == 0 else line
        if content.strip(BLANK):
            found.append((start, start + len(line), _is_object(content)))
        start += len(line) + 1
    return found


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line.decode("utf-8", errors="replace")), dict)
    except (ValueError, RecursionError):
        return False
