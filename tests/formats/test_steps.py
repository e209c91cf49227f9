"""Steps: integers in every format, and a problem of their line where they are none."""

import math
from pathlib import Path
from typing import Any

import pytest

import rolloupe
from rolloupe.formats import by_name
from rolloupe.model import Problem, SampleRow
from tests.formats.support import items, only_run, write

TEXT: dict[str, Any] = {"prompt": "p", "response": "r", "reward": 1.0}
TOKENS = {
    "rank": 0,
    "micro_step": 0,
    "micro_sequence_idx": 0,
    "export_sequence_idx": 0,
    "token_ids": [1],
    "loss_mask": [1],
}
NODE = {"message": {"role": "user", "content": "p"}, "token_ids": [1], "mask": [0], "sampled": False, "parent": None}
TRACE = {"id": "t", "nodes": [NODE]}
EPISODE = {"id": "e", "env": "x", "task": {}, "traces": [TRACE]}


def plain(key: str, of: dict[str, Any]) -> Any:
    """A record whose step stands under a key."""
    return lambda step: of | {key: step}


def episode(step: object) -> dict[str, Any]:
    """An episode of a step."""
    return EPISODE | {"run": {"type": "train", "work": {"step": step}}}


FILES = {
    "generic": ("data.jsonl", plain("global_step", TEXT)),
    "rl_logging_board": ("rank_0.jsonl", plain("step", TEXT)),
    "relax": ("train/4.jsonl", plain("rollout_id", TEXT | {"sample_index": 0})),
    "native": ("samples/rank0.jsonl", plain("step", TEXT | {"uid": "u", "split": "train"})),
    "tinker": (
        "iteration_000004/train_rollout_summaries.jsonl",
        plain("iteration", {"group_idx": 0, "traj_idx": 0, "total_reward": 1.0, "steps": []}),
    ),
    "prime_rl": ("token_exports/rank_0.jsonl", plain("step", TOKENS)),
    "prime_rl_traces": ("monitors/file/traces/stream/00000.jsonl", episode),
}

STEPS: tuple[Any, ...] = (3, 3.0, "3", 2.5, "x", math.nan, True, [3], {}, "", 2**60)


@pytest.mark.parametrize("format", FILES)
def test_a_step_that_is_no_integer_is_a_problem_of_its_line(format: str, tmp_path: Path) -> None:
    name, record = FILES[format]
    file = write(tmp_path / "run" / name, *map(record, STEPS))
    found = items(only_run(tmp_path / "run", format=format))
    assert [item.step for item in found if isinstance(item, SampleRow)] == [3, 3, 3]
    problems = [item for item in found if isinstance(item, Problem)]
    assert ["step" in one.reason for one in problems] == [True] * (len(STEPS) - 3)
    assert problems[0].reason == "step 2.5 is not an integer" and problems[1].reason == "step 'x' is not an integer"
    lines = file.read_bytes().splitlines(keepends=True)
    assert [one.start for one in problems] == [sum(map(len, lines[:n])) for n in range(3, len(STEPS))]


@pytest.mark.parametrize("format", FILES)
def test_a_line_without_a_step_is_listed_under_that_of_its_name_else_zero(format: str, tmp_path: Path) -> None:
    name, record = FILES[format]
    write(tmp_path / "run" / name, record(None))
    (row,) = items(only_run(tmp_path / "run", format=format))
    assert isinstance(row, SampleRow) and row.step == (4 if "4" in name else 0)


@pytest.mark.parametrize(
    ("files", "metrics"),
    [
        ({"monitors/file/traces/stream/00000.jsonl": episode(1)}, "monitors/file/metrics.jsonl"),
        ({FILES["tinker"][0]: FILES["tinker"][1](4)}, "metrics.jsonl"),
        (
            {"rolloupe.json": {"layout": "rolloupe", "version": 1}, FILES["native"][0]: FILES["native"][1](1)},
            "metrics/rank0.jsonl",
        ),
    ],
)
def test_so_is_one_of_a_row_of_metrics_unless_it_is_null(files: dict[str, Any], metrics: str, tmp_path: Path) -> None:
    for name, record in files.items():
        write(tmp_path / "run" / name, record)
    steps = (*STEPS, None)
    values = [
        {"step": step, "loss": float(n), "values": {"loss": float(n)}, "time": 1.0} for n, step in enumerate(steps)
    ]
    write(tmp_path / "run" / metrics, *values)
    run = only_run(tmp_path / "run")
    found = by_name(run.format).metrics(run)
    assert [(row.step, row.values["loss"]) for row in found] == [(3, 2.0), (None, 11.0)]
    with rolloupe.open(tmp_path / "run", index_dir=tmp_path / "index") as runs:
        listed = [one.reason for one in runs[0].problems() if one.source == metrics]
    assert len(listed) == len(STEPS) - 3 and listed[:2] == ["step 2.5 is not an integer", "step 'x' is not an integer"]
