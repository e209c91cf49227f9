"""A small run of every format with samples that the registry names, from `tests/data` or the demo."""

import json
from pathlib import Path
from typing import Any

from rolloupe.demo import RUNS
from rolloupe.formats import BUILT_IN, by_name, discover
from rolloupe.formats.reading.files import JSONL, plain_name
from rolloupe.formats.reading.stream import open_binary
from rolloupe.model import Location, Problem, RunInfo, SampleRow, Source

DATA = Path(__file__).parents[1] / "data"
DUMPS = DATA / "relax_dumps"
"""Relax's dumps, whose contract is in `test_relax_dumps.py`: here are its lines."""


def is_example(run: RunInfo) -> bool:
    """Whether a run has samples, no problems, and is found where its root is named."""
    reader = by_name(run.format)
    items = [item for source in reader.sources(run) for item in reader.scan(run, source, 0, 2**62)]
    is_good = any(isinstance(item, SampleRow) for item in items) and not any(isinstance(i, Problem) for i in items)
    return is_good and len(discover([Path(run.root)]).runs) == 1


def size(run: RunInfo) -> int:
    """How many bytes a run has."""
    return sum(path.stat().st_size for path in Path(run.root).rglob("*"))


FOUND = sorted(discover([DATA, RUNS]).runs, key=size)
NAMES = [name for name in BUILT_IN if by_name(name).has_samples]
OTHERS = [run for run in FOUND if DUMPS not in Path(run.root).parents]
EXAMPLES = {name: next((r for r in OTHERS if r.format == name and is_example(r)), None) for name in NAMES}
"""Of each format with samples the smallest run that is an example."""


def sample_sources(run: RunInfo) -> list[Source]:
    """The files that hold the samples of a run."""
    return [source for source in by_name(run.format).sources(run) if not source.annotates]


def _of_lines(run: RunInfo | None) -> bool:
    return run is not None and all(plain_name(source.path).endswith(JSONL) for source in sample_sources(run))


LINES = [name for name, run in EXAMPLES.items() if _of_lines(run)]
"""The formats whose files are JSON lines."""

WHOLE = [name for name, run in EXAMPLES.items() if run is not None and name not in LINES]
"""The formats of other files: tables, databases, archives, dumps, documents."""


def records_of(name: str, count: int = 4) -> list[dict[str, Any]]:
    """Records of the first file of a format's example."""
    run = EXAMPLES[name]
    assert run is not None
    source = sample_sources(run)[0]
    with open_binary(Location(source.path, source.root)) as file:
        return [json.loads(line) for _, line in zip(range(count), file, strict=False)]
