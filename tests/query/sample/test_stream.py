"""Many samples read one after another: as each by itself, and in few questions."""

import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from rolloupe import Recorder, query
from rolloupe.errors import NotFound
from rolloupe.index import OpenRun
from rolloupe.model import SampleKey
from rolloupe.query.engine import database
from rolloupe.query.engine.database import Question
from rolloupe.query.sample.stream import KeyedTable
from tests.index.support import eventually, lines, opened, row
from tests.thoroughness import amount


def questions(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements that are asked from now on."""
    asked: list[str] = []
    answer = database.answer

    def counted(run: OpenRun, question: Question, fetch: Callable[..., Any]) -> Any:
        asked.append(question.sql)
        return answer(run, question, fetch)

    monkeypatch.setattr(database, "answer", counted)
    return asked


def test_samples_of_a_step_are_looked_up_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train = tmp_path / "run" / "rollout_result" / "train"
    train.mkdir(parents=True)
    for step in range(2):
        rows = [row(step, i, group_index=i // 2) for i in range(20)]
        (train / f"{step}.jsonl").write_bytes(lines([*rows, row(step, 3, group_index=1, response="again")]))
    with opened(tmp_path / "run", tmp_path / "index") as library:
        run = library.runs[0]
        keys = [item.key for item in query.every(run, query.SampleQuery())]
        assert any(key.attempt for key in keys)
        one_by_one = [query.sample(run, key) for key in keys]
        asked = questions(monkeypatch)
        read = query.Reader(run)
        assert [read(key) for key in keys] == one_by_one
        assert len(asked) <= 4 * 2
        with pytest.raises(NotFound):
            read(SampleKey("train", 1, "none", "0"))


@pytest.mark.slow
def test_a_step_of_any_size_is_looked_up_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each sample by itself would be a look through all of the step."""
    train = tmp_path / "run" / "rollout_result" / "train"
    train.mkdir(parents=True)
    size = 51_000
    line = '{"rollout_id":0,"sample_index":%d,"group_index":%d,"response":"a%d"}\n'
    (train / "0.jsonl").write_text("".join(line % (n, n % 7, n) for n in range(size)))
    with opened(tmp_path / "run", tmp_path / "index") as library:
        run = library.runs[0]
        asked = questions(monkeypatch)
        read = query.Reader(run)
        for n in range(0, size, 500):
            assert read(SampleKey("train", 0, str(n % 7), str(n))).response_text == f"a{n}"
        assert len(asked) <= 4


def test_keys_with_one_hash_are_told_apart() -> None:
    names = ["a", "b", "a", "c"]
    table = pa.chunked_array([names[:2], names[2:]])
    keyed = KeyedTable(pa.table({"name": table, "n": list(range(4))}), ("name",))
    keyed.hashes[:] = hash(("a",))
    assert [row["n"] for row in keyed.rows("a")] == [0, 2]
    assert keyed.rows("d") == KeyedTable(pa.table({"name": pa.array([], pa.string())}), ("name",)).rows("a") == []


def test_a_reader_knows_what_was_written_since(tmp_path: Path) -> None:
    train = tmp_path / "run" / "rollout_result" / "train"
    train.mkdir(parents=True)
    (train / "0.jsonl").write_bytes(lines([row(0, i, response="first") for i in range(4)]))
    with opened(tmp_path / "run", tmp_path / "index", follow=True) as library:
        run = library.runs[0]
        keys = [item.key for item in query.every(run, query.SampleQuery())]
        read = query.Reader(run)
        assert [read(key).row.response for key in keys] == ["first"] * 4
        with (train / "0.jsonl").open("ab") as file:
            file.write(lines([row(0, 3, response="again")]))
        eventually(lambda: query.samples(run, query.SampleQuery()).total == 5)
        assert [read(key).row.response for key in keys] == ["first", "first", "first", "again"]


def test_threads_that_share_a_reader_lose_no_annotation(tmp_path: Path) -> None:
    """Two steps in turn: what is known of one is never taken for what is known of the other."""
    with Recorder(tmp_path / "run", strict=True) as record:
        for step in range(2):
            for index in range(6):
                uid = record.sample(prompt="?", response="!", index=str(index), group="0", step=step)
                record.annotate(uid, advantage=float(10 * step + index))
            record.step_end(step)
    wrong: list[object] = []

    def reads(read: query.Reader, keys: list[SampleKey], nth: int) -> None:
        rng = random.Random(nth)
        for key in rng.choices(keys, k=amount(12, 150)):
            found = read(key).row.advantage
            wrong.extend([(key, found)] if found != 10 * key.step + int(key.index) else [])

    with opened(tmp_path / "run", tmp_path / "index") as library:
        run = library.runs[0]
        keys = [item.key for item in query.every(run, query.SampleQuery())]
        read = query.Reader(run)
        threads = [threading.Thread(target=reads, args=(read, keys, nth)) for nth in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(keys) == 12
    assert wrong == []
