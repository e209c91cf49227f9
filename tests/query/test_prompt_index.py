"""The steps of every prompt, in memory."""

from pathlib import Path

import pyarrow as pa
import pytest

from rolloupe import query
from rolloupe.index import OpenRun
from rolloupe.query import prompt_index
from rolloupe.query.engine import database
from tests.index.support import eventually, lines, opened, relax_run, row


def write(train: Path, step: int, *prompts: str) -> None:
    rows = [row(step, n, group_index=n, prompt=prompt) for n, prompt in enumerate(prompts)]
    (train / f"{step}.jsonl").write_bytes(lines(rows))


def test_a_run_that_grows_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train = relax_run(tmp_path / "run", steps=0)
    write(train, 0, "Why?", "Who?")
    write(train, 1, "When?")
    with opened(tmp_path / "run", tmp_path / "index", follow=True) as library:
        run = library.runs[0]
        ids = [query.sample_key(f"train/{name}") for name in ("0/0/0", "0/1/1", "1/0/0")]
        why, who, when = (query.prompt_hash_of(run, key) for key in ids)
        assert [query.count_steps(run, prompt) for prompt in (why, who, when, 7)] == [1, 1, 1, 0]
        read: list[int] = []
        table = database.table

        def watched(run: OpenRun, asked: database.Question) -> pa.Table:
            read.append(len(asked.pieces))
            return table(run, asked)

        monkeypatch.setattr(database, "table", watched)
        write(train, 2, "Why?", "Why?")
        assert eventually(lambda: query.count_steps(run, why) == 2) < 30
        assert [query.count_steps(run, prompt) for prompt in (who, when)] == [1, 1]
        assert read and max(read) == 1  # the new piece alone
        assert [one.key.step for one in query.recurring(run, why)] == [0, 2]


def test_a_sample_does_not_wait_for_many_prompts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompt_index, "QUICK_ROWS", 1)
    train = relax_run(tmp_path / "run", steps=0)
    write(train, 0, "Why?", "Who?")
    with opened(tmp_path / "run", tmp_path / "index") as library:
        run = library.runs[0]
        why = query.prompt_hash_of(run, query.sample_key("train/0/0/0"))
        assert query.count_steps(run, why) is None
        assert len(query.recurring(run, why)) == 1  # whoever asks for the steps waits
        assert query.count_steps(run, why) == 1
