"""What looks as if other keys made the groups of a plain log, and what the option that is named then makes."""

import itertools
import json
import shlex
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

import rolloupe
from rolloupe.cli.commands import doctor
from rolloupe.formats import by_name
from rolloupe.formats.generic.format import Generic
from rolloupe.formats.generic.hints import GroupedRow, group_doubts
from rolloupe.formats.generic.rows import LineRows
from rolloupe.formats.reading.value_parsers import digest
from rolloupe.model import SampleRow
from rolloupe.query.run.problems import MOST_ROWS, MOST_S
from tests.cli.support import rolloupe as command

Rows = list[dict[str, Any]]


def four_by_four(of: Callable[[int, int], dict[str, Any]]) -> Rows:
    """Four samples of each of four things to solve."""
    return [{"step": 3, "reward": n % 2} | of(item, n) for item, n in itertools.product(range(4), range(4))]


def chat(item: int, n: int) -> list[dict[str, str]]:
    return [{"role": "user", "content": f"Solve {item}."}, {"role": "assistant", "content": f"{item} {n}"}]


DOUBTED: dict[str, tuple[str, Rows]] = {
    "a kind of task is not a group": (
        "prompt", four_by_four(lambda i, n: {"task_id": "math", "prompt": f"What is {i}?", "response": f"{i} {n}"})),
    "an id that begins anew for each data set": (
        "prompt", four_by_four(lambda i, n: {"problem_id": i % 2, "question": f"{i}?", "completion": f"{i} {n}"})),
    "messages with several questions": (
        "prompt", four_by_four(lambda i, n: {"group_id": 0, "messages": chat(i, n)})),
    "another key goes with the prompts": (
        "case_no", four_by_four(lambda i, n: {"group_id": 0, "case_no": f"c{i}", "messages": chat(i, n)})),
    "no prompts at all": ("item", four_by_four(lambda i, n: {"item": i, "response": f"{i} {n}"})),
    "a key with a blank": ("Item No", four_by_four(lambda i, n: {"Item No": i, "response": f"{i} {n}"})),
    "one prompt for all": (
        "question_no",
        four_by_four(lambda i, n: {"question_no": f"Q{i}", "prompt": "Do the task.", "response": f"{i} {n}"})),
    "prompts that never repeat": (
        "idx", four_by_four(lambda i, n: {"idx": i, "sample": n, "prompt": f"{i}, seed {n}", "response": f"{i} {n}"})),
    "written round after round": (
        "meta.item", sorted(four_by_four(lambda i, n: {"meta": {"item": i}, "round": n, "response": f"{i} {n}"}),
                            key=lambda one: str(one["round"]))),
}  # fmt: skip

PLAIN: dict[str, Rows] = {
    "the key says what prompts say": four_by_four(lambda i, n: {"item": i, "k": n, "prompt": f"{i}?", "response": "x"}),
    "numbers of samples": four_by_four(lambda i, n: {"sample_idx": n, "idx": n, "prompt": f"{i}?", "response": "x"}),
    "kinds of tasks": [
        {"level": i % 5, "topic": "xy"[i % 2], "uid": str(i), "item_count": i % 2, "prompt": f"{i}?", "response": "x",
         "reward": 1} for i in range(50)],
    "turns of one conversation": [
        {"task_id": i, "prompt": f"Begin {i}." + " More." * n, "response": "x", "reward": 1}
        for i in range(4) for n in range(4)],
}  # fmt: skip


def write(path: Path, rows: Rows) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def doubts(run: Path) -> list[str]:
    with rolloupe.open(run, index_dir=run.parent / "index") as opened:
        return opened.group_doubts()


def groups(run: Path, key: str) -> list[set[str]]:
    """The responses of each group of step 3, once the run is opened with a key."""
    with rolloupe.open(run, group_by=key, index_dir=run.parent / "index") as opened:
        assert opened.group_doubts() == []
        by_group: dict[str, set[str]] = {}
        for one in opened.samples(rolloupe.SampleQuery(step_min=3, step_max=3)):
            by_group.setdefault(one.key.group, set()).add(opened.sample(one.key).response_text)
        return [*by_group.values()]


@pytest.mark.parametrize("name", DOUBTED)
def test_a_doubt_names_the_key_that_then_makes_the_groups(name: str, tmp_path: Path) -> None:
    key, rows = DOUBTED[name]
    run = write(tmp_path / "run/log.jsonl", rows).parent
    (doubt,) = doubts(run)
    assert f"--group-by {shlex.quote(key)}" in doubt
    assert [len(group) for group in groups(run, key)] == [4] * 4


@pytest.mark.parametrize("name", PLAIN)
def test_nothing_is_said_of_groups_that_go_by_their_prompts(name: str, tmp_path: Path) -> None:
    assert doubts(write(tmp_path / "run/log.jsonl", PLAIN[name]).parent) == []


def of_file(name: str, model: str = "") -> Rows:
    rows = four_by_four(lambda i, n: {"prompt": f"{i}?", "response": f"{name} {i} {n}"})
    return [row | ({"model": model} if model else {}) for row in rows]


FILES: dict[str, tuple[list[str], str]] = {
    "models": (["model_a", "model_b"], "prompt,file"),
    "models whose names differ in a number": (["qwen-7b", "qwen-14b"], "prompt,file"),
    "ranks": (["rank_0", "rank_1"], ""),
    "workers": (["worker-0", "worker-1"], ""),
    "parts": (["part-00000", "part-00001"], ""),
    "numbers": (["0", "1"], ""),
    "processes with an id each": (["rollouts-5f0c1e8a-93b1-4d2e", "rollouts-0b7d4c22-11aa-4f00"], ""),
}


@pytest.mark.parametrize("name", FILES)
def test_files_that_share_groups_are_named_unless_they_are_parts_of_one_log(name: str, tmp_path: Path) -> None:
    names, key = FILES[name]
    for one in names:
        write(tmp_path / f"run/step_3/{one}.jsonl", of_file(one))
    found = doubts(tmp_path / "run")
    assert len(found) == bool(key)
    if key:
        assert all(f"step_3/{one}.jsonl" in found[0] for one in names) and f"--group-by {key}" in found[0]
        words = [sorted({text.split()[0] for text in group}) for group in groups(tmp_path / "run", key)]
        assert sorted(words) == sorted([[one] for one in names] * 4)


def test_a_key_that_names_models_keeps_their_groups_apart(tmp_path: Path) -> None:
    write(tmp_path / "run/log.jsonl", of_file("x", "net-a") + of_file("y", "net-b"))
    (doubt,) = doubts(tmp_path / "run")
    assert "(net-a, net-b)" in doubt and "--group-by prompt,model" in doubt
    found = groups(tmp_path / "run", "prompt,model")
    assert sorted(len(group) for group in found) == [4] * 8
    assert all(len({text[0] for text in group}) == 1 for group in found)


def test_other_formats_that_store_no_group_get_the_hint_too(tmp_path: Path) -> None:
    rows = four_by_four(lambda i, n: {"item": i, "input": f"user\n{i}, try {n}", "output": f"{i} {n}", "score": n % 2})
    (doubt,) = doubts(write(tmp_path / "run/3.jsonl", [row | {"gts": ""} for row in rows]).parent)
    assert "--group-by item" in doubt
    assert [len(group) for group in groups(tmp_path / "run", "item")] == [4] * 4


def test_doctor_and_lint_say_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "LIMIT_S", 120.0)
    run = write(tmp_path / "run/log.jsonl", DOUBTED["no prompts at all"][1]).parent
    done = command("doctor", run, "--index-dir", tmp_path / "index")
    assert "perhaps other groups: no key names the groups, but `item` may" in done.out
    (found,) = command("doctor", run, "--index-dir", tmp_path / "index", "--json").json["runs"]
    assert len(found["group_doubts"]) == 1
    with rolloupe.open(run, index_dir=tmp_path / "index") as opened:
        (broken,) = [one for one in opened.lint().broken if one.rule == "other_groups"]
    assert (broken.is_certain, broken.count) == (False, 1) and "--group-by item" in broken.text


def test_a_slow_store_costs_no_more_than_a_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"step": 3, "item": n // 4, "response": "x", "reward": 1} for n in range(400)]
    run = write(tmp_path / "run/log.jsonl", rows).parent

    def slow(*args: Any) -> Any:
        time.sleep(0.02)
        return LineRows().record_at(*args)

    monkeypatch.setattr(Generic, "record_at", reads := Mock(side_effect=slow))
    assert "--group-by item" in doubts(run)[0]
    assert reads.call_count <= MOST_S / 0.02 + 1


def test_few_samples_are_read_of_a_large_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"step": 3, "item": n // 4, "response": "x", "reward": 1} for n in range(4000)]
    run = write(tmp_path / "run/log.jsonl", rows).parent
    reads = Mock(side_effect=by_name("generic").record_at)
    monkeypatch.setattr(Generic, "record_at", reads)
    assert "--group-by item" in doubts(run)[0]
    assert 0 < reads.call_count <= MOST_ROWS


def test_rows_of_very_many_keys_take_a_moment() -> None:
    keys = dict.fromkeys((f"item_{n}" for n in range(30_000)), 1)
    records = [{"item": n, **keys} for n in range(8)]
    rows = [
        GroupedRow(
            records[n * 8 // MOST_ROWS],
            SampleRow(split="train", step=0, group=digest(""), index=str(n), ordinal=n, start=n, length=1),
            "x",
        )
        for n in range(MOST_ROWS)
    ]
    began = time.process_time()
    (doubt,) = group_doubts(rows, is_guessed=True)
    assert "--group-by item," in doubt
    assert time.process_time() - began < 2.5
