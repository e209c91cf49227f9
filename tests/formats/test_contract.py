"""Every format keeps its contract on a run of its own that lies in `tests/data` or in the demo."""

from pathlib import Path

from rolloupe.formats import testing as contract
from tests.formats.examples import EXAMPLES
from tests.formats.support import limit_contract

limit_contract()

for name, example in EXAMPLES.items():
    members = {"format": name, "example": Path(example.root)} if example else {}
    globals()[f"Test_{name}"] = type(f"Test_{name}", (contract.FormatContract,), members)


def test_every_format_has_an_example() -> None:
    assert [name for name, example in EXAMPLES.items() if example is None] == []
