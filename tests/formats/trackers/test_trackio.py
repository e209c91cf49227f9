"""trackio: traces and tables of several trainers, one project with several runs, and a writer that goes on."""

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import rolloupe
from rolloupe.formats import by_name, discover
from rolloupe.formats import testing as contract
from rolloupe.formats.reading.trackers import sqlite
from rolloupe.formats.trackers import database_format
from rolloupe.formats.trackers.trackio import Trackio
from rolloupe.model import Problem, RunInfo, SampleRow
from rolloupe.text import digest
from tests.formats.support import items, limit_contract, rows, samples
from tests.formats.trackers.support import means
from tests.index.support import eventually

DATA = Path(__file__).parents[2] / "data/trackio"
CALC = {"role": "user", "content": "17+25?"}
ANSWER = {"role": "assistant", "content": "42"}

limit_contract()


class TestTracesKeepTheContract(contract.FormatContract):
    """The smallest example, which `test_contract.py` takes, has tables."""

    format = "trackio"
    example = DATA / "one_run_of_traces.db"

    def copy(self, folder: Path) -> Path:
        """A database with one of the runs of an example."""
        goal = folder / self.example.name
        shutil.copyfile(DATA / "trl_async.db", goal)
        with closing(sqlite3.connect(goal)) as database:
            for table in ("configs", "metrics", "traces"):
                database.execute(f"DELETE FROM {table} WHERE run_name = 'async-grpo-b'")
            database.commit()
        return goal


def runs(path: Path) -> dict[str, RunInfo]:
    """The runs of a database by name."""
    found = discover([path]).runs
    assert {run.format for run in found} == {"trackio"}
    return {run.name: run for run in found}


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Any]:
    """A function that logs to a new database of trackio 0.43 with one run."""
    path = tmp_path / "p.db"
    schema = sqlite3.connect(f"file:{DATA / 'live.db'}?immutable=1", uri=True)
    tables = [text for (text,) in schema.execute("SELECT sql FROM sqlite_master WHERE name IN ('metrics', 'traces')")]
    schema.close()
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA wal_autocheckpoint = 0")
    for text in tables:
        database.execute(text)

    def log(messages: Any = None, step: int = 1, key: str = "rollouts", run: str = "a", **metadata: Any) -> Path:
        if messages is None:
            put = "INSERT INTO metrics (run_id, timestamp, run_name, step, metrics) VALUES (?, '', ?, ?, ?)"
            database.execute(put, (run, run, step, json.dumps(metadata).encode()))
            return path
        count = database.execute("SELECT count(*) FROM traces").fetchone()[0]
        put = (
            "INSERT INTO traces (id, run_id, timestamp, run_name, step, key, messages, metadata, search_text) "
            "VALUES (?, ?, '', ?, ?, ?, ?, ?, '')"
        )
        values = (json.dumps(messages).encode(), json.dumps(metadata).encode())
        database.execute(put, (str(count), run, run, step, key, *values))
        return path

    yield log
    database.close()


def only(path: Path) -> RunInfo:
    """The one run of a database."""
    (run,) = runs(path).values()
    return run


def test_traces_of_trl() -> None:
    found = runs(DATA / "trl_async.db")
    assert means(rows(found["async-grpo-a"])) == {
        ("train", 1): (8, 2, 0.375), ("train", 2): (8, 2, 0.642857), ("train", 3): (8, 2, 0.928571),
    }  # fmt: skip
    assert [mean for _, _, mean in means(rows(found["async-grpo-b"])).values()] == [0.1875, 0.321429, 0.464286]
    first = samples(found["async-grpo-a"])[0]
    assert [(turn.role, turn.origin) for turn in first.turns] == [
        ("system", "prompt"), ("user", "prompt"), ("assistant", "response"), ("tool", "response"),
        ("assistant", "response"),
    ]  # fmt: skip
    assert (first.row.advantage, first.row.prompt_tokens, first.row.response_tokens) == (1.0, 20, 55)
    assert first.row.metrics["tools/call_frequency"] == 1.0 and first.key.group == "10"


def test_tables_of_trl_with_an_evaluation() -> None:
    run = only(DATA / "trl_tables.db")
    found = rows(run)
    assert {key: count for key, (count, _, _) in means(found).items()} == {
        ("train", 1): 8, ("train", 2): 8, ("eval/eval", 2): 4, ("train", 3): 8,
    }  # fmt: skip
    first = samples(run)[0]
    assert first.row.metrics == {"reward.accuracy_reward": 1.0, "reward.format_reward": 0.1}
    assert first.row.reward == pytest.approx(1.1) and first.label == "42"
    assert first.notes == [], "the configuration says that weights are 1"
    accuracy = [row.metrics["reward.accuracy_reward"] for row in found if (row.split, row.step) == ("train", 2)]
    finite = [value for value in accuracy if value == value]
    assert (len(finite), round(sum(finite) / 7, 6)) == (7, 0.642857)
    assert by_name("trackio").config(run)["num_generations"] == 4


def test_traces_and_validations_of_verl_are_one_run() -> None:
    found = runs(DATA / "verl_demo.db")
    run = found["grpo-a"]
    assert "2 ids" in run.reason and rows(found["grpo-b"]) == []
    assert means(rows(run)) == {
        ("eval/generations", 1): (4, 2, 0.25), ("eval/generations", 3): (4, 2, 1.0),
        ("train", 1): (8, 2, None), ("train", 2): (8, 2, None), ("train", 3): (8, 2, 1.0),
    }  # fmt: skip
    train = [sample for sample in samples(run) if sample.key.split == "train"]
    assert [(turn.role, turn.origin) for turn in train[0].turns] == [("user", "prompt"), ("assistant", "response")]
    assert (len(train[0].token_ids), train[0].row.response_tokens) == (16, 8)
    assert [(one.name, one.offset, len(one.values)) for one in train[0].series] == [("loss_mask", 8, 8)]
    assert train[0].row.metrics["num_turns"] == 4.0 and str(train[0].key) == "train/1/u10/0"
    assert (train[-1].row.status, train[-1].row.tags["exception_type"]) == ("error", "RuntimeError")
    validation = samples(run)[0]
    assert [turn.role for turn in validation.turns] == ["system", "user", "assistant"]


@pytest.mark.parametrize("name", ["slime", "areal", "tunix"])
def test_traces_of_open_pull_requests(name: str) -> None:
    found = rows(runs(DATA / "pr_shapes.db")[name])
    assert means(found) == {("train", 2): (4, 2, 0.833333), ("train", 3): (4, 2, 0.875)}
    assert (found[0].advantage is not None) == (name == "tunix")
    assert found[0].status == ("completed" if name == "slime" else "unknown")


def test_rows_in_the_log_count_and_nothing_is_left_behind(tmp_path: Path) -> None:
    for name in ("live.db", "live.db-wal"):
        shutil.copyfile(DATA / name, tmp_path / name)
    before = [(one.name, one.stat().st_size, one.stat().st_mtime_ns) for one in sorted(tmp_path.iterdir())]
    found = runs(tmp_path)
    assert means(rows(found["second"])) == {
        ("train", 1): (4, 1, 0.5), ("train", 2): (4, 1, 0.75), ("train", 3): (4, 1, 1.0),
    }  # fmt: skip
    assert samples(found["second"]) and rows(found["first"]) == []
    assert [(one.name, one.stat().st_size, one.stat().st_mtime_ns) for one in sorted(tmp_path.iterdir())] == before


def test_copies_of_traces_are_no_samples(tmp_path: Path) -> None:
    shutil.copyfile(DATA / "trl_tables.db", tmp_path / "p.db")
    folder = tmp_path / "traces" / "p" / "grpo-c"
    folder.mkdir(parents=True)
    (folder / "1-rollouts-0.jsonl").write_text(
        '{"type": "session", "timestamp": "2026-11-22T02:08:26"}\n'
        '{"type": "message", "message": {"role": "assistant", "content": "42"}}\n',
        encoding="utf-8",
    )
    assert [run.format for run in discover([tmp_path]).runs] == ["trackio"]


def test_numbers_alone_are_curves(project: Any) -> None:
    path = project(loss=0.5)
    project(picture={"_type": "trackio.table", "_value": [{"image": "a.png", "label": 1}]})
    assert [run.format for run in discover([path]).runs] == ["curves"]


def test_an_index_follows_a_writer_and_keeps_what_it_has(project: Any, tmp_path: Path) -> None:
    path = project([CALC, ANSWER], reward=1.0)
    with rolloupe.open(path, index_dir=tmp_path / "index", state_dir=tmp_path / "state", follow=True) as opened:
        (run,) = opened
        for step in (2, 3):
            before = len(list(run.samples()))
            project([CALC, ANSWER], step=step, reward=0.0)
            project(loss=0.5, step=step)
            eventually(lambda: len(list(run.samples())) > before)  # noqa: B023 - called here
        assert sorted((one.step, one.reward) for one in run.samples()) == [(1, 1.0), (2, 0.0), (3, 0.0)]
        assert run.indexed_bytes()[0] == run.indexed_bytes()[1]
    beside = {one.name for one in path.parent.iterdir() if one.is_file()}
    assert beside == {"p.db", "p.db-shm", "p.db-wal"}, "of the writer, which is still there"


def test_steps_and_splits_and_what_is_no_sample(project: Any) -> None:
    path = project([CALC, ANSWER], step=7, reward=1.0)
    project([CALC, ANSWER], step=7, global_step=3, reward="NaN", split="eval/gsm8k")
    project([CALC, ANSWER], step=7, mode="validation")
    project([CALC, ANSWER], step=7, **{"rewards/a": 0.5, "rewards/b": 0.25})
    project([CALC, ANSWER], step=7, global_step="NaN")
    project("no messages", step=7)
    run = only(path)
    found = [item for item in items(run) if isinstance(item, SampleRow)]
    assert [(row.split, row.step) for row in found] == [
        ("train", 7), ("eval/gsm8k", 3), ("eval/validation", 7), ("train", 7), ("train", 7),
    ]  # fmt: skip
    assert found[1].reward != found[1].reward and found[2].reward is None and found[3].reward == 0.75
    assert [item.reason for item in items(run) if isinstance(item, Problem)] == [
        "a trace without messages is not a sample"
    ]


def test_reward_functions_are_known_by_their_metrics(project: Any) -> None:
    row = {"step": 5, "prompt": "p", "completion": "c", "right": 1.0, "brief": -0.5, "n_chars": 43, "advantage": 0.1}
    project(**{"train/rewards/right/mean": 1.0, "train/rewards/brief/mean": -0.5})
    path = project(completions={"_type": "trackio.table", "_value": [row]})
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE configs (run_id TEXT, config TEXT)")
        database.execute("INSERT INTO configs VALUES ('a', ?)", (b'{"reward_weights": null}',))
        database.commit()
    (found,) = rows(only(path))
    assert (found.reward, found.advantage, found.metrics["n_chars"]) == (0.5, 0.1, 43)


def test_the_last_table_counts_once_and_old_traces_lie_among_the_metrics(project: Any) -> None:
    table = {"_type": "trackio.table", "_value": [{"step": 5, "prompt": "p", "completion": "c", "r": 1.0, "q": 0.5}]}
    path = project(completions=table)
    project(epoch=1.0)
    project(completions=table)
    trace = {"_type": "trackio.trace", "messages": [CALC, ANSWER], "metadata": {"reward": 0.25}}
    project(rollouts=[trace, trace], step=6)
    run = only(path)
    assert [(row.step, row.reward) for row in rows(run)] == [(5, 1.5), (6, 0.25), (6, 0.25)]
    assert "without weights" in samples(run)[0].notes[0]


def test_ids_without_text_are_shown_as_ids(project: Any) -> None:
    output = {"prompt_ids": [1, 2], "response_ids": [3, 4], "response_mask": [1, 0], "reward_score": 0.5}
    inputs = {"kwargs": {"raw_prompt": [CALC], "reward_model": {"ground_truth": "42"}}}
    path = project(
        [CALC, ANSWER], key="rollout_trace/SingleTurnAgentLoop.run", op="SingleTurnAgentLoop.run", inputs=inputs,
        output=output, sample_index=4, rollout_n=1, step=2, validate=True, status="success",
    )  # fmt: skip
    (sample,) = samples(only(path))
    assert (sample.response_text, sample.label, sample.row.status) == ("3 4", "42", "completed")
    assert str(sample.key) == f"eval/validation/2/4-{digest(sample.row.prompt)}/1"


def test_calls_of_verl_for_prompts_of_two_data_sets_are_two_groups(project: Any) -> None:
    for prompt in ("of gsm8k", "of math"):
        for n in (0, 1):
            inputs = {"kwargs": {"raw_prompt": [{"role": "user", "content": prompt}]}}
            path = project(
                [CALC], op="ToolAgentLoop.run", inputs=inputs, output={"response_text": "a"}, sample_index=0,
                rollout_n=n, step=1,
            )  # fmt: skip
    found = rows(only(path))
    assert [(row.prompt, row.index) for row in found if row.group == found[0].group] == [
        ("of gsm8k", "0"), ("of gsm8k", "1"),
    ]  # fmt: skip
    assert len({row.group for row in found}) == 2


def test_runs_of_one_name_with_traces_alone_stay_apart(project: Any) -> None:
    *_, path = [project([CALC, ANSWER], run=own_id, reward=reward) for reward, own_id in enumerate("ab")]
    with closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE traces SET run_name = 'same'")
        database.commit()
    assert [[row.reward for row in rows(run)] for run in discover([path]).runs] == [[0.0], [1.0]]


def test_a_worker_belongs_to_the_run_of_its_time(project: Any) -> None:
    for own_id in ("a", "b"):
        project(run=own_id, loss=0.5)
        call: dict[str, Any] = {"op": "ToolAgentLoop.run", "rollout_n": 0, "output": {"response_text": f"of {own_id}"}}
        path = project([CALC], run=f"worker of {own_id}", sample_index=0, **call)
    with closing(sqlite3.connect(path)) as database:
        for table in ("metrics", "traces"):
            database.execute(
                f"UPDATE {table} SET run_name = 'same', timestamp = CASE WHEN run_id LIKE '%a' "
                "THEN '2026-11-22T02:00:00+00:00' ELSE '2026-11-22T03:00:00+00:00' END"
            )
        database.commit()
    assert [[row.response for row in rows(run)] for run in discover([path]).runs] == [["of a"], ["of b"]]


def test_a_scan_holds_a_few_rows_at_once(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(6):
        path = project([CALC, ANSWER | {"content": "x" * 1000 * (n % 3)}], step=n)
    run = only(path)
    whole = rows(run)
    monkeypatch.setattr(database_format, "BATCH_BYTES", 1500)
    held: list[int] = []
    samples = Trackio.samples

    def seen(*about: Any) -> Any:
        placed = [*samples(*about)]
        held.append(len(placed))
        return placed

    monkeypatch.setattr(Trackio, "samples", seen)
    assert rows(run) == whole and len(whole) == sum(held) == 6
    assert held[:4] == [2, 1, 2, 1]


def test_a_database_in_the_middle_of_a_transaction_keeps_its_sources(tmp_path: Path) -> None:
    path = tmp_path / "p.db"
    shutil.copyfile(DATA / "pr_shapes.db", path)
    run = runs(path)["slime"]
    reader = by_name("trackio")
    before = reader.sources(run)
    journal = tmp_path / "p.db-journal"
    journal.write_bytes(sqlite.JOURNAL_MAGIC)
    assert reader.sources(run) == before != []
    found = discover([tmp_path])
    assert found.runs == [] and "p.db: cannot be read: its -journal holds" in found.notes[0].reason
    journal.unlink()
    path.unlink()
    assert reader.sources(run) == []


def test_old_databases_know_runs_by_name(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE metrics (timestamp TEXT, run_name TEXT, step INTEGER, metrics TEXT)")
        trace = {"_type": "trackio.trace", "messages": [CALC, ANSWER], "metadata": {"reward": 1.0}}
        for name in ("a", "b"):
            database.execute("INSERT INTO metrics VALUES ('', ?, 3, ?)", (name, json.dumps({"r": trace})))
        database.commit()
    assert [[row.step for row in rows(run)] for run in runs(path).values()] == [[3], [3]]
