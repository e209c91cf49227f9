"""What a statement may touch: the files of its own index, and no setting."""

from pathlib import Path

import duckdb
import pytest

from rolloupe.errors import BadQuery
from rolloupe.index import OpenRun
from rolloupe.query.engine import database
from rolloupe.query.engine.database import Question
from tests.index.support import opened, relax_run

pytestmark = pytest.mark.usefixtures("own_databases")


def asked(run: OpenRun, sql: str) -> list[tuple[object, ...]]:
    return database.ask(run, Question(run.snapshot().holding(), sql))


def test_a_statement_reads_the_files_of_its_own_index_alone_and_changes_no_setting(tmp_path: Path) -> None:
    for name in ("one", "other"):
        relax_run(tmp_path / name, steps=1)
    (tmp_path / "notes.csv").write_text("secret\n1\n")
    with opened(tmp_path / "one", tmp_path / "a") as one, opened(tmp_path / "other", tmp_path / "b") as other:
        (run,), (second,) = one.runs, other.runs
        (theirs,) = (piece.path for piece in second.snapshot().holding())
        for forbidden in (
            f"read_parquet('{theirs}')",
            f"read_csv('{tmp_path / 'notes.csv'}')",
            f"glob('{tmp_path}/*')",
        ):
            with pytest.raises(BadQuery, match="disabled"):
                asked(run, f"SELECT * FROM {forbidden}")
        with pytest.raises(duckdb.Error, match="lock"):
            database._database(tmp_path / "a").execute("SET enable_external_access = true")
        assert [asked(each, "SELECT count(*) FROM rows") for each in (run, second)] == [[(8,)]] * 2


def test_few_databases_stay_open(tmp_path: Path) -> None:
    relax_run(tmp_path / "run", steps=1)
    for number in range(database.MAX_DATABASES + 2):
        with opened(tmp_path / "run", tmp_path / f"index{number}") as library:
            assert asked(library.runs[0], "SELECT count(*) FROM rows") == [(8,)]
    assert len(database._databases) == database.MAX_DATABASES


@pytest.mark.parametrize(
    "error",
    [duckdb.InvalidInputException("reading the schema failed: KeyboardInterrupt: "), RuntimeError("Query interrupted")],
)
def test_ctrl_c_within_a_query_is_ctrl_c(error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> str:
        raise error

    relax_run(tmp_path / "run", steps=1)
    monkeypatch.setattr(database, "definition", interrupted)
    with opened(tmp_path / "run", tmp_path / "index") as library, pytest.raises(KeyboardInterrupt):
        asked(library.runs[0], "SELECT 1 FROM rows")
