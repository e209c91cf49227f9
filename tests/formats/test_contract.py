"""Every format keeps its contract on a run of its own that lies in `tests/data`."""

import io
import shutil
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from rolloupe.formats import testing as contract
from tests.formats.examples import EXAMPLES, NAMES
from tests.formats.support import limit_contract

limit_contract()

FIRST = {"step": 1, "group_id": 6, "sample_id": 24}
"""By column of Telescope's tables the greatest number that is left in a shortened run."""


@cache
def first_rows(archive: Path) -> bytes:
    """An archive of Telescope with the first steps and groups in each of its tables."""
    data = io.BytesIO()
    with zipfile.ZipFile(archive) as whole, zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as short:
        for name in whole.namelist():
            member = whole.read(name)
            short.writestr(name, first_rows_of_table(member) if name.endswith(".parquet") else member)
    return data.getvalue()


def first_rows_of_table(data: bytes) -> bytes:
    """A table with the rows that are kept."""
    table = pq.read_table(io.BytesIO(data))
    for column in FIRST.keys() & {*table.column_names}:
        numbers = pa.compute.fill_null(table[column], 0)
        table = table.filter(pa.compute.less_equal(numbers, FIRST[column]))
    written = io.BytesIO()
    pq.write_table(table, written)
    return written.getvalue()


def copy_shortened(self: contract.FormatContract, folder: Path) -> Path:
    """Copy the first steps of the example: it has hundreds of samples in five archives."""
    goal = folder / self.example.name
    shutil.copytree(self.example, goal, ignore=shutil.ignore_patterns("*.zip"))
    for archive in self.example.rglob("*.zip"):
        (goal / archive.relative_to(self.example)).write_bytes(first_rows(archive))
    return goal


for name, example in EXAMPLES.items():
    members: dict[str, Any] = {"format": name, "example": Path(example.root)}
    if name == "telescope":
        members["copy"] = copy_shortened
    globals()[f"Test_{name}"] = type(f"Test_{name}", (contract.FormatContract,), members)


def test_every_format_has_an_example() -> None:
    assert [*EXAMPLES] == NAMES
