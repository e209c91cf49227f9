"""The steps of every prompt, in memory."""

import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

from rolloupe import query
from rolloupe.index import OpenRun
from rolloupe.query import prompts
from rolloupe.query.engine import database
from rolloupe.record import Recorder
from rolloupe.record.folder import own_launches
from tests.index.support import eventually, lines, opened, relax_run, row


def write(train: Path, step: int, *prompts: str) -> None:
    rows = [row(step, n, group_index=n, prompt=prompt) for n, prompt in enumerate(prompts)]
    (train / f"{step}.jsonl").write_bytes(lines(rows))


def watch(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the numbers of pieces that are read from now on."""
    read: list[int] = []
    table = database.table

    def watched(run: OpenRun, asked: database.Question) -> pa.Table:
        read.append(len(asked.pieces))
        return table(run, asked)

    monkeypatch.setattr(database, "table", watched)
    return read


def test_a_run_that_grows_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train = relax_run(tmp_path / "run", steps=0)
    write(train, 0, "Why?", "Who?")
    write(train, 1, "When?")
    with opened(tmp_path / "run", tmp_path / "index", follow=True) as library:
        run = library.runs[0]
        ids = [query.sample_key(f"train/{name}") for name in ("0/0/0", "0/1/1", "1/0/0")]
        why, who, when = (query.prompt_hash_of(run, key) for key in ids)
        assert [query.count_steps(run, prompt) for prompt in (why, who, when, 7)] == [1, 1, 1, 0]
        read = watch(monkeypatch)
        write(train, 2, "Why?", "Why?")
        assert eventually(lambda: query.count_steps(run, why) == 2) < 30
        assert [query.count_steps(run, prompt) for prompt in (who, when)] == [1, 1]
        assert read and max(read) == 1  # the new piece alone
        assert [one.key.step for one in query.recurring(run, why)] == [0, 2]


@pytest.fixture
def many_prompts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[OpenRun, int]]:
    """A run with more prompts than a sample waits for, and the hash of one."""
    monkeypatch.setattr(prompts, "QUICK_ROWS", 1)
    write(relax_run(tmp_path / "run", steps=0), 0, "Why?", "Who?")
    with opened(tmp_path / "run", tmp_path / "index") as library:
        run = library.runs[0]
        yield run, query.prompt_hash_of(run, query.sample_key("train/0/0/0"))


def test_a_sample_does_not_wait_for_many_prompts(many_prompts: tuple[OpenRun, int]) -> None:
    run, why = many_prompts
    assert query.count_steps(run, why) is None
    assert len(query.recurring(run, why)) == 1  # whoever asks for the steps waits
    assert query.count_steps(run, why) == 1


def test_small_pieces_are_merged_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompts, "MOST_CHUNKS", 2)
    train = relax_run(tmp_path / "run", steps=0)
    write(train, 0, "Why?", "Who?")
    with opened(tmp_path / "run", tmp_path / "index", follow=True) as library:
        run = library.runs[0]
        why, who = (query.prompt_hash_of(run, query.sample_key(f"train/0/{n}/{n}")) for n in (0, 1))

        def counts_are(*expected: int) -> bool:
            return (query.count_steps(run, why), query.count_steps(run, who)) == expected

        assert counts_are(1, 1)
        read = watch(monkeypatch)
        for step in range(1, 6):
            write(train, step, "Why?" if step % 2 else "Who?", "When?")
            assert eventually(partial(counts_are, 1 + (step + 1) // 2, 1 + step // 2)) < 30
        assert max(read) == 1


def test_a_sample_does_not_wait_for_a_scan(many_prompts: tuple[OpenRun, int], monkeypatch: pytest.MonkeyPatch) -> None:
    run, why = many_prompts
    table, begun, end = database.table, threading.Event(), threading.Event()

    def slow(run: OpenRun, asked: database.Question) -> pa.Table:
        begun.set()
        assert end.wait(30)
        return table(run, asked)

    monkeypatch.setattr(database, "table", slow)
    scan = threading.Thread(target=query.recurring, args=(run, why))
    scan.start()
    counts: list[int | None] = []
    count = threading.Thread(target=lambda: counts.append(query.count_steps(run, why)))
    assert begun.wait(30)
    count.start()
    count.join(10)
    assert counts == [None]
    end.set()
    scan.join(30)
    assert query.count_steps(run, why) == 1


def test_a_resumed_run_is_read_once_and_its_older_rows_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for asked in (("Why?", "Why?", "Who?"), ("Who?", "Why?")):  # the second launch begins at step 1
        own_launches.clear()  # as another process would
        with Recorder(tmp_path / "run", code=None) as recorder:
            for step, prompt in enumerate(asked, 3 - len(asked)):
                recorder.sample(step=step, group="0", index=0, prompt=prompt, response="!", reward=1)
    with opened(tmp_path / "run", tmp_path / "index", follow=True) as library:
        run = library.runs[0]
        why = query.prompt_hash_of(run, query.sample_key("train/0/0/0"))
        assert query.count_steps(run, why) == 2  # steps 0 and 2
        read = watch(monkeypatch)
        with Recorder(tmp_path / "run", code=None) as recorder:
            recorder.sample(step=3, group="0", index=0, prompt="Why?", response="!", reward=1)
        assert eventually(lambda: query.count_steps(run, why) == 3) < 30
        assert max(read) == 1
