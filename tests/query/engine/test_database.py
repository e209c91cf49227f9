"""What a statement may touch: the files of its own index, and no setting."""

import time
from pathlib import Path

import duckdb
import pytest

from rolloupe.errors import BadQuery
from rolloupe.index import OpenRun
from rolloupe.query.engine import database, relation
from rolloupe.query.engine.database import Question
from rolloupe.query.engine.relation import Column
from tests.index.support import lines, opened, relax_run

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
            database.cursor_of(tmp_path / "a").execute("SET enable_external_access = true")
        assert [asked(each, "SELECT count(*) FROM rows") for each in (run, second)] == [[(8,)]] * 2


def test_few_databases_stay_open(tmp_path: Path) -> None:
    relax_run(tmp_path / "run", steps=1)
    for number in range(database.MAX_DATABASES + 2):
        with opened(tmp_path / "run", tmp_path / f"index{number}") as library:
            assert asked(library.runs[0], "SELECT count(*) FROM rows") == [(8,)]
    assert len(database.databases) == database.MAX_DATABASES


@pytest.mark.parametrize(
    "error",
    [duckdb.InvalidInputException("reading the schema failed: KeyboardInterrupt: "), RuntimeError("Query interrupted")],
)
def test_ctrl_c_within_a_query_is_ctrl_c(error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> str:
        raise error

    relax_run(tmp_path / "run", steps=1)
    monkeypatch.setattr(relation, "definition", interrupted)
    with opened(tmp_path / "run", tmp_path / "index") as library, pytest.raises(KeyboardInterrupt):
        asked(library.runs[0], "SELECT 1 FROM rows")


def wide_run(folder: Path, files: int, names: int) -> Path:
    """A run with so many files, each with so many sample metrics of its own."""
    folder.mkdir()
    for number in range(files):
        metrics = {f"m{number}_{name}": name for name in range(names)}
        sample = {"prompt": "?", "response": "!", "reward": 1.0, "step": number, "metrics": metrics}
        (folder / f"step_{number}.jsonl").write_bytes(lines([sample, sample | {"reward": 0.0}]))
    return folder


def test_of_many_columns_those_in_use_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sql = 'SELECT step, reward, "m.m1_2" FROM (SELECT * FROM rows) ORDER BY ALL'
    with opened(wide_run(tmp_path / "run", 3, 5), tmp_path / "index") as library:
        (run,) = library.runs
        question = Question(run.snapshot().holding(), sql, named=[Column("m.m1_2", "DOUBLE")])
        before = database.ask(run, question)
        monkeypatch.setattr(relation, "MANY_COLUMNS", 10)
        assert database.ask(run, question) == before == sorted(before) and {row[2] for row in before} == {None, 2.0}
        reading = relation.TableReading(tmp_path, question.pieces, question.named, used=relation.used_in(sql))
    assert "m1_2" in reading.sql() and "m1_3" not in reading.sql()


@pytest.mark.slow
def test_many_columns_take_time_in_proportion(tmp_path: Path) -> None:
    with opened(wide_run(tmp_path / "run", 100, 500), tmp_path / "index") as library:
        (run,) = library.runs
        question = Question(run.snapshot().holding(), "SELECT count(*), sum(reward) FROM rows")
        began = time.process_time()
        assert database.ask(run, question) == [(200, 100.0)]
        assert time.process_time() - began < 1.5, "3 s when every column was named in each step of a statement"
