"""tviz: several runs in one database, rows that only its `-wal` holds, and databases of others."""

import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from rolloupe.formats import by_name, discover
from rolloupe.formats.trainers import tviz
from rolloupe.model import RunInfo
from tests.formats.support import items, mean_reward, only_run, rows, samples

DATA = Path(__file__).parents[1] / "data" / "tviz" / "tviz.db"


def with_second_run(folder: Path) -> Path:
    path = folder / "tviz.db"
    shutil.copy(DATA, path)
    with closing(sqlite3.connect(path)) as database:
        database.execute("INSERT INTO runs (id, name, config) VALUES ('b', 'second', '[1]')")
        add(database, "b", 7, "caf\xe9", [1.0, -2.0])
        database.commit()
    return path


def add(database: sqlite3.Connection, run_id: str, step: int, text: str, rewards: list[float]) -> None:
    asked = "INSERT INTO rollouts (run_id, step, group_idx, prompt_text, city) VALUES (?, ?, 0, ?, 'Oslo')"
    rollout = database.execute(asked, (run_id, step, text)).lastrowid
    for number, reward in enumerate(rewards):
        columns = "rollout_id, trajectory_idx, reward, output_text, distance_km"
        database.execute(f"INSERT INTO trajectories ({columns}) VALUES (?, ?, ?, 'a', 3.5)", (rollout, number, reward))


def of_name(path: Path, name: str) -> RunInfo:
    (run,) = [run for run in discover([path]).runs if run.name == name]
    return run


def test_a_run_of_a_database_has_groups_tokens_metrics_and_a_configuration() -> None:
    run = only_run(DATA)
    found = rows(run)
    assert (run.name, len(found), mean_reward(found)) == ("toy", 48, 0.59375)
    assert sorted(Counter((row.step, row.group) for row in found).values()) == [4] * 12
    first = samples(run)[0]
    (logprobs,) = first.series
    assert (len(first.token_ids), logprobs.offset, len(logprobs.values)) == (44, 15, 29)
    assert [turn.role for turn in first.turns] == ["user", "assistant"]
    reader = by_name("tviz")
    assert (reader.config(run), reader.ending(run)) == ({"model": "tiny"}, "ended")
    assert [row.values["reward_mean"] for row in reader.metrics(run)] == [0.5, 0.625, 0.65625]


def test_each_run_of_a_database_has_its_own_samples(tmp_path: Path) -> None:
    path = with_second_run(tmp_path)
    second = of_name(path, "second")
    assert [(row.step, row.reward, row.prompt) for row in rows(second)] == [(7, 1.0, "caf\xe9"), (7, -2.0, "caf\xe9")]
    assert (rows(second)[0].tags, rows(second)[0].metrics) == ({"city": "Oslo"}, {"distance_km": 3.5})
    assert len(rows(of_name(tmp_path, "toy"))) == 48
    assert (by_name("tviz").config(second), by_name("tviz").ending(second)) == ({}, "open")


def test_rows_in_the_wal_are_read_and_nothing_is_left_beside_the_database(tmp_path: Path) -> None:
    path = with_second_run(tmp_path)
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        run = of_name(path, "second")
        before = by_name("tviz").sources(run)
        add(writer, "b", 8, "more", [3.0])
        writer.commit()
        there = {one.name: (one.stat().st_size, one.stat().st_mtime_ns) for one in tmp_path.iterdir()}
        assert [row.step for row in rows(run)] == [7, 7, 8]
        assert by_name("tviz").sources(run) != before
        assert {one.name: (one.stat().st_size, one.stat().st_mtime_ns) for one in tmp_path.iterdir()} == there


def test_a_database_is_read_in_batches_and_texts_that_are_none_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = with_second_run(tmp_path)
    with closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE rollouts SET prompt_text = CAST(X'FF41' AS TEXT) WHERE run_id = 'b'")
        database.execute("UPDATE trajectories SET output_text = NULL, reward = 'NaN?' WHERE distance_km IS NOT NULL")
        database.commit()
    monkeypatch.setattr(tviz, "BATCH_ROWS", 5)
    assert len(rows(of_name(path, "toy"))) == 48
    assert [(row.prompt, row.response, row.reward) for row in rows(of_name(path, "second"))] == [
        ("\ufffdA", "", None), ("\ufffdA", "", None),
    ]  # fmt: skip


def test_other_databases_are_not_taken(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "a.db")) as database:
        database.execute("CREATE TABLE rollouts (id INTEGER)")
        database.execute("CREATE VIEW trajectories AS SELECT 1 AS id, 1 AS rollout_id")
        database.commit()
    (tmp_path / "b.db").write_bytes(DATA.read_bytes()[:5000])
    (tmp_path / "c.db").write_text("no database")
    assert discover([tmp_path]).runs == []


def test_a_run_whose_database_is_cut_off_has_a_problem(tmp_path: Path) -> None:
    path = with_second_run(tmp_path)
    run = of_name(path, "second")
    path.write_bytes(path.read_bytes()[:8192])
    (problem,) = items(run)
    assert "cannot be read" in getattr(problem, "reason", "")
