"""Every format keeps its contract on a run of its own that lies in `tests/data` or in the demo."""

from pathlib import Path

from rolloupe.demo import RUNS
from rolloupe.formats import BUILT_IN, by_name, discover
from rolloupe.formats import testing as contract
from rolloupe.model import Problem, RunInfo, SampleRow
from tests.formats.support import limit_contract

DATA = Path(__file__).parents[1] / "data"

limit_contract()


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
DUMPS = DATA / "relax_dumps"
"""Relax's dumps, whose contract is in `test_relax_dumps.py`: here are its lines."""

OTHERS = [run for run in FOUND if DUMPS not in Path(run.root).parents]
EXAMPLES = {name: next((r for r in OTHERS if r.format == name and is_example(r)), None) for name in NAMES}
"""Of each format with samples the smallest run that is an example."""

for name, example in EXAMPLES.items():
    members = {"format": name, "example": Path(example.root)} if example else {}
    globals()[f"Test_{name}"] = type(f"Test_{name}", (contract.FormatContract,), members)


def test_every_format_has_an_example() -> None:
    assert [name for name, example in EXAMPLES.items() if example is None] == []
