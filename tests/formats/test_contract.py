"""Every format keeps its contract on a run of its own that lies in `tests/data` or in the demo."""

from collections.abc import Iterable
from pathlib import Path

from rolloupe.demo import RUNS
from rolloupe.formats import BUILT_IN, by_name, discover
from rolloupe.formats import testing as contract
from rolloupe.model import Problem, RunInfo, SampleRow
from tests.thoroughness import amount

DATA = Path(__file__).parents[1] / "data"

contract.MAX_CUTS, contract.MAX_VALUES = amount((20, 60), (contract.MAX_CUTS, contract.MAX_VALUES))


def is_example(run: RunInfo) -> bool:
    """Whether a run has samples, no problems, and is found where its root is named."""
    reader = by_name(run.format)
    items = [item for source in reader.sources(run) for item in reader.scan(run, source, 0, 2**62)]
    is_good = any(isinstance(item, SampleRow) for item in items) and not any(isinstance(i, Problem) for i in items)
    return is_good and len(discover([Path(run.root)]).runs) == 1


def smallest(runs: Iterable[RunInfo]) -> RunInfo:
    """The run with the fewest bytes."""
    return min(runs, key=lambda run: sum(path.stat().st_size for path in Path(run.root).rglob("*")))


FOUND = discover([DATA, RUNS]).runs
EXAMPLES = {name: [run for run in FOUND if run.format == name and is_example(run)] for name in BUILT_IN}

for name, runs in EXAMPLES.items():
    members = {"format": name, "example": Path(smallest(runs).root)} if runs else {}
    globals()[f"Test_{name}"] = type(f"Test_{name}", (contract.FormatContract,), members)


def test_every_format_has_an_example() -> None:
    assert [name for name, runs in EXAMPLES.items() if not runs] == []
