"""AReaL: a folder a weight version, a file a task, appended line by line."""

import gzip
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rolloupe.model import Problem
from rolloupe.text import verbatim
from tests.formats.support import items, only_run, rows, samples, write

DATA = Path(__file__).parents[1] / "data" / "areal"


@pytest.mark.parametrize("place", [DATA, DATA / "rollout"])
def test_steps_are_weight_versions_and_groups_are_tasks(place: Path) -> None:
    run = only_run(place)
    found = rows(run)
    assert (run.format, run.name) == ("areal", "areal")
    assert Counter((row.split, row.step, row.group) for row in found) == {
        ("train", 0, "0"): 4, ("train", 0, "1"): 4, ("train", 1, "4"): 4,
    }  # fmt: skip
    assert (found[0].prompt_tokens, found[0].response_tokens, found[0].total_tokens) == (15, 29, 44)
    assert found[0].metrics == {"sample_idx": 0.0, "head_version": -1.0}
    assert [turn.role for turn in samples(run)[0].turns] == ["user", "assistant"]


def test_evaluations_of_a_trial_are_a_split_of_its_run(tmp_path: Path) -> None:
    shutil.copytree(DATA / "rollout", tmp_path / "trial" / "rollout")
    shutil.copytree(DATA / "rollout" / "1", tmp_path / "trial" / "eval-rollout" / "1")
    run = only_run(tmp_path / "trial")
    assert Counter(row.split for row in rows(run)) == {"train": 12, "eval/rollout": 4}


START, END = "<|im_start|>", "<|im_end|>"


def trajectory(tail_version: int, *segments: tuple[str, str], **more: Any) -> dict[str, Any]:
    """A line as AReaL writes it from June 2026 on; a character is a token."""
    (_, prompt), *answer = segments
    listed = [{"role": role, "len": len(text), "text": text} for role, text in segments]
    return {
        "task_id": 42, "sample_idx": 0, "seqlen": sum(len(text) for _, text in segments), "prompt_len": len(prompt),
        "head_version": tail_version - 1, "tail_version": tail_version, "version_rle": [[tail_version, 9]],
        "reward": 1.0, "prompt": prompt, "completion": "".join(text for _, text in answer), "original_reward": 0.5,
        **({"segments": listed} if len(answer) > 1 else {}), **more,
    }  # fmt: skip


ASKED = ("prompt", f"{START}user\nq{END}\n{START}assistant\n")
QUOTED = ("gen", f"I quote {START}user\nno turn{END}")
RESULT = ("context", f"\n{START}user\n<tool_response>\nr\n</tool_response>{END}\n{START}assistant\n")


def test_the_folder_is_the_step_and_segments_say_where_turns_begin(tmp_path: Path) -> None:
    plain = [("prompt", "q"), ("gen", "a"), ("context", "r"), ("gen", "b")]
    write(
        tmp_path / "trial/rollout/7/42.jsonl",
        trajectory(7, ASKED, QUOTED, RESULT, ("gen", f"done{END}")), trajectory(6, ASKED, ("gen", f"a{END}")),
        trajectory(7, *plain), trajectory(7, *plain, segments=[{"role": "gen"}, 3]),
    )  # fmt: skip
    write(tmp_path / "trial/rollout/8/42.jsonl", trajectory(8, ASKED, QUOTED, RESULT, ("gen", "x"), completion="other"))
    run = only_run(tmp_path / "trial")
    assert [row.step for row in rows(run)] == [7, 7, 7, 7, 8] and {row.group for row in rows(run)} == {"42"}
    first, second, third, fourth, fifth = samples(run)
    assert [turn.role for turn in first.turns] == ["user", "assistant", "tool", "assistant"]
    assert "".join(map(verbatim, first.turns)) == first.prompt_text + first.response_text
    assert (first.row.turns, first.row.metrics["original_reward"]) == (2, 0.5)
    assert first.extra["segments"][1] == {"role": "gen", "len": len(QUOTED[1])} and "version_rle" in first.extra
    assert (second.row.turns, second.row.metrics["tail_version"], "tail_version" in first.row.metrics) == (1, 6, False)
    assert [(turn.role, turn.tokens) for turn in third.turns[1:]] == [("assistant", 1), ("tool", 1), ("assistant", 1)]
    assert [turn.role for turn in fourth.turns] == ["user", "assistant"] and fourth.row.turns == 1
    assert [turn.role for turn in fifth.turns] == ["user", "assistant"]


@pytest.mark.parametrize(
    "place", ["trial", "trial/rollout", "trial/rollout/7", "trial/rollout/7/42.jsonl", "2026/42.jsonl"]
)
def test_a_number_is_the_step_only_of_a_folder_of_versions(tmp_path: Path, place: str) -> None:
    for folder in ("trial/rollout/7", "2026"):
        write(tmp_path / folder / "42.jsonl", trajectory(6, ASKED, ("gen", "a")))
    assert [row.step for row in rows(only_run(tmp_path / place))] == [6 if "2026" in place else 7]


def test_the_version_is_read_from_lines_without_their_folders(tmp_path: Path) -> None:
    data = (DATA / "rollout" / "1" / "4.jsonl").read_bytes()
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "4.jsonl.gz").write_bytes(gzip.compress(data))
    assert {row.step for row in rows(only_run(tmp_path / "x"))} == {1}
    (tmp_path / "y.jsonl").write_bytes(data[:-20])
    found = items(only_run(tmp_path / "y.jsonl"))
    assert len(found) == 4 and isinstance(found[-1], Problem) and found[-1].transient
