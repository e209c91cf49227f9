"""Rows of databases that take too much memory: each is a problem, and costs none of the others."""

import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from rolloupe.model import Problem, SampleRow, Scanned
from tests.formats.other_runs import databases
from tests.formats.support import items, only_run

SIZE_BYTES = 70 * 2**20
"""More than SQLite itself would hand out, which would cost the whole database."""

MAKERS: dict[str, tuple[Callable[[Path], None], str, str]] = {
    "traces": (databases.trackio_0_30_with_traces_in_a_table, "traces", "messages"),
    "tables": (databases.trackio_0_20_with_a_table_of_trl, "metrics", "metrics"),
    "tviz": (databases.tviz_with_fewer_columns, "trajectories", "output_text"),
    "mlflow": (databases.mlflow_traces_of_another_agent_loop, "spans", "content"),
}


def texts_of(found: list[Scanned]) -> list[tuple[str, str]]:
    return [(one.prompt, one.response) for one in found if isinstance(one, SampleRow)]


@pytest.mark.parametrize("name", MAKERS)
def test_a_row_that_is_too_large_is_a_problem_and_the_others_are_read(tmp_path: Path, name: str) -> None:
    make, table, column = MAKERS[name]
    make(tmp_path)
    (path,) = (one for one in tmp_path.rglob("*.*") if one.suffix in (".db", ".sqlite"))
    before = Counter(texts_of(items(only_run(path))))
    with closing(sqlite3.connect(path)) as database:
        longest = f"SELECT rowid FROM {table} ORDER BY length({column}) DESC, rowid DESC LIMIT 1"
        longer = f"UPDATE {table} SET {column} = {column} || hex(zeroblob(?)) WHERE rowid = ({longest})"
        database.execute(longer, (SIZE_BYTES // 2,))
        database.commit()
    found = items(only_run(path))
    (problem,) = (one for one in found if isinstance(one, Problem))
    assert "a row of 70 MiB, which takes too much memory: up to 32 MiB are read" in problem.reason
    assert not problem.transient
    left = Counter(texts_of(found))
    assert (before.total(), left.total()) == (12, 0 if name == "tables" else 11)
    assert left <= before
