"""A format that displaces `generic` knows at least what `generic` would read from the same lines."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from rolloupe.formats import by_name, discover
from rolloupe.formats.reading.files import plain_name
from rolloupe.formats.reading.stream import open_binary
from rolloupe.formats.reading.value_parsers import digest
from rolloupe.model import Location, Locator, RunInfo, Sample, SampleRow
from tests.formats.examples import EXAMPLES, LINES, sample_sources
from tests.formats.support import items, write

FACTS: dict[str, Any] = {
    "group_id": "G", "finish_reason": "length", "ground_truth": "L", "data_source": "E", "response_length": 77,
    "prompt_length": 33, "advantage": 0.125, "note": "n", "uid": "U", "metrics": {"fmt": 0.5},
}  # fmt: skip
"""What a plain log may say of a sample, under usual names."""


def known(row: SampleRow, sample: Sample) -> dict[str, object]:
    """The facts of a sample that are there, whatever they are."""
    facts = {
        "group": not row.group.startswith(digest(row.prompt)), "status": row.status != "unknown",
        "label": sample.label, "env": row.env, "response_tokens": row.response_tokens,
        "prompt_tokens": row.prompt_tokens, "advantage": row.advantage, "uid": row.uid,
        "metric": row.metrics.get("fmt"), "note": row.tags.get("note") or sample.extra.get("note"),
        "prompt": sample.prompt_text, "response": sample.response_text, "reward": row.reward,
    }  # fmt: skip
    return {name: fact for name, fact in facts.items() if fact not in (None, "", False, [])}


def read(run: RunInfo) -> dict[tuple[str, int, str], dict[str, object]]:
    """What a format knows of each sample, by its place."""
    reader = by_name(run.format)
    found = {}
    for source in sample_sources(run):
        for row in reader.scan(run, source, 0, 2**62):
            if isinstance(row, SampleRow):
                place = Locator(source=source.name, start=row.start, length=row.length, part=row.part)
                found[source.path, row.start, row.part] = known(row, reader.load(run, source, place))
    return found


def with_facts(name: str, place: Path) -> Path:
    """A copy of a format's example whose lines have every fact of a plain log that they lack."""
    run = EXAMPLES[name]
    root = Path(run.root)
    copy = place / root.name
    if root.is_dir():
        shutil.copytree(root, copy)
    else:
        shutil.copy(root, copy)
    for source in sample_sources(run):
        path = copy / Path(source.path).relative_to(root) if root.is_dir() else copy
        with open_binary(Location(str(path), str(path.parent))) as file:
            rows = [json.loads(line) for line in file.read().splitlines() if line.strip()]
        path.unlink()
        write(path.with_name(plain_name(path.name)), *(FACTS | row for row in rows))
    return copy


@pytest.mark.parametrize("name", [name for name in LINES if name not in ("generic", "native")])
def test_no_format_knows_less_than_generic_would(name: str, tmp_path: Path) -> None:
    folder = with_facts(name, tmp_path)
    for run in discover([folder]).runs:
        theirs = read(run)
        for path in {source.path for source in sample_sources(run)}:
            for other in by_name("generic").detect(Path(path)):
                ours = read(other)
                lost = {place: ours[place].keys() - theirs[place].keys() for place in ours.keys() & theirs.keys()}
                assert not any(lost.values()), (run.format, next(one for one in lost.items() if one[1]))


def test_what_is_added_to_lines_is_told_by_generic(tmp_path: Path) -> None:
    """The test above compares with something: of a plain log, `generic` knows every fact."""
    row = {"step": 1, "prompt": "q", "response": "a", "reward": 0.5} | FACTS
    (tmp_path / "log.jsonl").write_text(json.dumps(row) + "\n")
    (run,) = discover([tmp_path]).runs
    assert run.format == "generic" and items(run)
    assert len(next(iter(read(run).values()))) == 13
