"""Databases of trackio, also while somebody writes them: all rows are read, and nothing is left beside them."""

import json
import math
import sqlite3
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from rolloupe.formats.reading.trackers import sqlite
from rolloupe.formats.reading.trackers.curves import LoggedRun, metric_rows, trainer_step_of
from rolloupe.formats.reading.trackers.sqlite import (
    BadDatabase,
    is_database,
    project_runs,
    read_database,
    runs_of_trackio,
)
from rolloupe.model import Location

SCHEMA = """
CREATE TABLE metrics (id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL, timestamp TEXT NOT NULL,
  run_name TEXT NOT NULL, step INTEGER NOT NULL, metrics TEXT NOT NULL, log_id TEXT, space_id TEXT);
CREATE TABLE configs (id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL, run_name TEXT NOT NULL,
  config TEXT NOT NULL, created_at TEXT NOT NULL, UNIQUE(run_id));
"""
"""As trackio 0.43.0 makes them; its JSON is a BLOB."""


def location(path: Path) -> Location:
    return Location(str(path), str(path.parent))


def read_trackio(place: Location) -> dict[str, LoggedRun]:
    return read_database(place, runs_of_trackio)


def log(database: sqlite3.Connection, run: str, step: int, metrics: object) -> None:
    row = (run, "2026-11-22T02:08:26.896586+00:00", f"name of {run}", step, json.dumps(metrics).encode())
    database.execute("INSERT INTO metrics (run_id, timestamp, run_name, step, metrics) VALUES (?, ?, ?, ?, ?)", row)


def project(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path)
    database.executescript(SCHEMA)
    log(database, "a", 0, {"loss": 0.5, "kl": "NaN", "train/global_step": 1, "note": "text"})
    log(database, "a", 1, {})
    log(database, "b", 0, {"loss": 2})
    log(database, "a", 2, {"loss": "-Infinity", "train/global_step": 2, "t": {"_type": "trackio.table", "_value": [1]}})
    database.execute(
        "INSERT INTO configs (run_id, run_name, config, created_at) VALUES ('a', 'n', ?, '')",
        (json.dumps({"lr": 1e-6, "_Created": 1}).encode(),),
    )
    database.commit()
    return database


def test_the_runs_of_a_project_and_the_trainers_own_step(tmp_path: Path) -> None:
    project(tmp_path / "p.db").close()
    runs = read_trackio(location(tmp_path / "p.db"))
    assert [*runs] == ["a", "b"] and runs["a"].name == "name of a" and runs["a"].config == {"lr": 1e-6}
    step_name = trainer_step_of(runs["a"].rows)
    rows = metric_rows(runs["a"].rows, step_name)
    assert step_name == "train/global_step" and [row.step for row in rows] == [1, 2]
    assert rows[0].values["loss"] == 0.5 and math.isnan(rows[0].values["kl"]) and rows[1].values == {"loss": -math.inf}
    assert rows[0].time_s == pytest.approx(1795313306.896586)
    assert [path.name for path in tmp_path.iterdir()] == ["p.db"]


def test_rows_beyond_the_most_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project(tmp_path / "p.db").close()
    for most, damage in ((4, ""), (3, "only the first 3 rows of its database are read")):
        monkeypatch.setattr(sqlite, "MOST_ROWS", most)
        runs = read_trackio(location(tmp_path / "p.db"))
        assert {one.damage for one in runs.values()} == {damage} and len(runs["a"].rows) == most - 2


def test_rows_that_are_only_in_the_log_of_a_writer_count_and_nothing_is_left_beside_its_files(tmp_path: Path) -> None:
    path = tmp_path / "live.db"
    with closing(project(path)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        log(writer, "a", 3, {"loss": 7.0, "train/global_step": 3})
        writer.commit()
        (tmp_path / "live.db-shm").rename(tmp_path / "elsewhere")  # as after a writer that was killed
        files = sorted(tmp_path.iterdir())
        stamps = [(one.stat().st_size, one.stat().st_mtime_ns) for one in files]
        assert tmp_path / "live.db-wal" in files
        alone = Location(str(path), str(path))  # as a person names it
        link = tmp_path.with_name(f"{tmp_path.name} link.db")
        link.symlink_to(path)  # the log of its database does not lie beside it
        for place in (location(path), alone, Location(str(link), str(tmp_path))):
            assert [row.values.get("loss") for row in read_trackio(place)["a"].rows][-1] == 7.0
        assert project_runs(alone) == [("a", "n")]
        assert sorted(tmp_path.iterdir()) == files
        assert [(one.stat().st_size, one.stat().st_mtime_ns) for one in files] == stamps


def test_of_the_log_of_a_writer_only_what_counts_is_copied(tmp_path: Path) -> None:
    path, wal = tmp_path / "p.db", tmp_path / "p.db-wal"
    with closing(project(path)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        for step in range(3, 103):
            log(database, "a", step, {"loss": step, "text": "x" * 1000})
            database.commit()
        used = wal.stat().st_size
        with wal.open("ab") as file:
            file.truncate(2**29)
        assert len(read_trackio(location(path))["a"].rows) == 102
        with closing(sqlite.copied_log(location(wal))) as copy:
            assert copy.seek(0, 2) <= used + 2**16
        wal.write_bytes(b"\0" * 2**20)
        with closing(sqlite.copied_log(location(wal))) as copy:
            assert copy.seek(0, 2) == 0


def test_a_database_without_run_ids_has_runs_by_name(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "old.db")) as database:
        database.execute("CREATE TABLE metrics (timestamp TEXT, run_name TEXT, step INTEGER, metrics TEXT)")
        database.execute("INSERT INTO metrics VALUES ('never', 'one', 4, '{\"a\": 1}')")
        database.commit()
    (run,) = read_trackio(location(tmp_path / "old.db")).values()
    assert (run.name, run.rows[0].step, run.rows[0].values, run.rows[0].time_s) == ("one", 4, {"a": 1.0}, None)


def test_what_is_no_such_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("no database at all " * 100)
    (tmp_path / "empty.db").touch()
    project(tmp_path / "real.db").close()
    data = bytearray((tmp_path / "real.db").read_bytes())
    data[100:3000] = b"\xff" * 2900
    (tmp_path / "torn.db").write_bytes(data)
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside/link.db").symlink_to(tmp_path / "real.db")
    for name in ("text.db", "empty.db", "torn.db", "inside/link.db", "nothing.db"):
        with pytest.raises(BadDatabase, match=f"{Path(name).name} cannot be read"):
            read_trackio(location(tmp_path / name))
    assert [is_database(location(tmp_path / name)) for name in ("real.db", "text.db", "empty.db")] == [
        True,
        False,
        False,
    ]
    endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c WHERE x < 0"
    with closing(project(tmp_path / "view.db")) as database:
        database.execute("DROP TABLE metrics")
        columns = "x AS id, '' AS timestamp, 'r' AS run_name, x AS step, '{\"a\": 1}' AS metrics"
        database.execute(f"CREATE VIEW metrics AS SELECT {columns} FROM ({endless})")
        database.commit()
    assert project_runs(location(tmp_path / "view.db")) == []
    with pytest.raises(BadDatabase, match=r"view\.db cannot be read: it is not a database of trackio"):
        read_trackio(location(tmp_path / "view.db"))
    with pytest.raises(BadDatabase, match=r"it takes more than 0\.02 seconds"):
        read_database(location(tmp_path / "real.db"), lambda database: database.execute(endless).get, 0.02)
    with pytest.raises(BadDatabase, match="too big"):
        read_database(location(tmp_path / "real.db"), lambda one: one.execute("SELECT zeroblob(70000000)").get)
    with pytest.raises(BadDatabase, match="readonly"):
        read_database(location(tmp_path / "real.db"), lambda database: database.execute("DELETE FROM metrics"))


def test_a_view_in_place_of_the_traces_is_named(tmp_path: Path) -> None:
    with closing(project(tmp_path / "p.db")) as database:
        database.execute("CREATE VIEW traces AS SELECT * FROM metrics")
        database.commit()
    for run in read_trackio(location(tmp_path / "p.db")).values():
        assert "a view takes the place of a table: `traces`" in run.damage


def test_a_transaction_that_is_not_finished_is_not_read_as_if_it_were(tmp_path: Path) -> None:
    path = tmp_path / "p.db"
    with closing(project(path)) as writer:
        writer.execute("PRAGMA cache_size = 1")
        for step in range(600):
            log(writer, "a", step, {"loss": 1.0, "note": "x" * 500})
        writer.commit()
        writer.execute("UPDATE metrics SET metrics = CAST('{\"lost\": 1}' AS BLOB)")
        assert b'{"lost": 1}' in path.read_bytes() and (tmp_path / "p.db-journal").stat().st_size
        with pytest.raises(BadDatabase, match="its -journal holds an unfinished transaction"):
            read_trackio(location(path))
        writer.rollback()
        assert not any("lost" in row.values for row in read_trackio(location(path))["a"].rows)
        writer.execute("PRAGMA journal_mode = PERSIST")
        log(writer, "a", 601, {"loss": 2.0})
        writer.commit()
        assert (tmp_path / "p.db-journal").exists() and read_trackio(location(path))["a"].rows[-1].values == {"loss": 2}


def test_odd_texts_of_one_row_cost_no_other_row(tmp_path: Path) -> None:
    with closing(project(tmp_path / "p.db")) as database:
        log(database, "c" * 9_000_000, 1, {"loss": 1})
        log(database, "d", 8, {"loss": 4})
        log(database, "d", 9, {})
        database.execute("UPDATE metrics SET run_name = CAST(x'61ff' AS TEXT) WHERE run_id = 'd'")
        database.execute("UPDATE metrics SET step = 'x' WHERE step = 8")
        database.execute("UPDATE metrics SET metrics = CAST(x'fffe' AS TEXT), step = 10.5 WHERE step = 9")
        database.execute("DROP TABLE configs")
        database.commit()
    runs = read_trackio(location(tmp_path / "p.db"))
    assert [*runs] == [one.id for one in project_runs(location(tmp_path / "p.db"))]
    first, second, long, odd = runs.values()
    assert (first.id, second.id, odd.id, odd.name, len(long.id), len(long.name)) == ("a", "b", "d", "a\ufffd", 12, 12)
    assert [row.step for run in (first, long, odd) for row in run.rows] == [0, 2, 1, None]


def test_a_run_that_is_only_in_the_log_of_a_writer_is_listed(tmp_path: Path) -> None:
    with closing(project(tmp_path / "live.db")) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        log(writer, "new", 0, {"loss": 7.0})
        assert "new" not in read_trackio(location(tmp_path / "live.db")), "not committed"
        writer.commit()
        listed = read_database(location(tmp_path / "live.db"), lambda database: [*database.execute("SELECT 1")])
        assert listed == [(1,)] and read_trackio(location(tmp_path / "live.db"))["new"].rows[0].values == {"loss": 7.0}
        writer.execute("INSERT INTO configs (run_id, run_name, config, created_at) VALUES ('new', 'n', '{}', '')")
        writer.commit()
        assert [one.id for one in project_runs(location(tmp_path / "live.db"))] == ["a", "new"]


def test_a_database_that_changes_while_it_is_read_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "p.db"
    with closing(project(path)) as writer:
        counts: list[int] = []

        def count(database: apsw.Connection, last: int) -> int:
            counts.append(int(database.execute("SELECT count(*) FROM metrics").get))
            if len(counts) < last:
                log(writer, "a", 9, {})
                writer.commit()
            return counts[-1]

        assert read_database(location(path), lambda database: count(database, 2)) == 5 and counts == [4, 5]
        with pytest.raises(BadDatabase, match="keeps changing"):
            read_database(location(path), lambda database: count(database, 99))
