"""Rewards that look as if they were none: `ls`, `doctor` and the Python face say so."""

import json
from pathlib import Path
from typing import Any

import pytest

import rolloupe
from rolloupe.cli.commands import doctor
from tests.cli.support import rolloupe as command


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path.parent


def doubts(run: Path, index: Path, **named: str) -> list[str]:
    with rolloupe.open(run, index_dir=index, fields=named or None) as opened:
        return opened.reward_doubts()


def test_a_counter_is_no_score(tmp_path: Path) -> None:
    rows = [{"prompt": "Q", "response": "a", "attempt": n, "mark": n % 4} for n in range(8)]
    run = write(tmp_path / "run/log.jsonl", *rows)
    (said,) = doubts(run, tmp_path / "index", reward="attempt")
    assert "as `attempt` says" in said and "Next: " in said
    assert doubts(run, tmp_path / "index", reward="mark") == []
    write(tmp_path / "run/more.jsonl", *rows[:6])
    assert len(doubts(run, tmp_path / "index", reward="attempt")) == 1
    usual = write(tmp_path / "usual/log.jsonl", *({"prompt": "Q", "response": "a", "reward": n} for n in range(8)))
    assert doubts(usual, tmp_path / "index") == []


def test_doctor_and_ls_say_why_there_is_no_reward(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "LIMIT_S", 120.0)
    rows = [{"prompt": "Q", "response": "a", "letter": one} for one in ("\x1bA", "B", None)]
    run = write(tmp_path / "run/log.jsonl", *rows)
    place = (run, "--index-dir", tmp_path / "index", "--map", "reward=letter")
    said = command("doctor", *place).out
    assert "rewards: 2 samples have a text instead of a reward, and it is not a number; the first is “" in said
    assert "no problems: every record was read, but 3 samples had no finite reward" in said
    assert "1 file of JSON lines, read as --map or --format says" in said
    listed = command("ls", *place).out
    assert "run: 2 samples have a text instead of a reward" in listed and "\x1b" not in listed
    (found,) = command("doctor", *place, "--json").json["runs"]
    assert len(found["reward_doubts"]) == 1


def test_one_document_is_one_file(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "log.json").write_text(json.dumps([{"prompt": "Q", "response": "a", "reward": 1}]))
    with rolloupe.open(run, index_dir=tmp_path / "index") as opened:
        assert opened.runs[0].reason.startswith("1 JSON file, rows have prompt")
        assert opened.runs[0].reward_doubts() == []
