"""Runs that were resumed and wrote steps again, in files that name no launch."""

import contextlib
import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import rolloupe
from rolloupe import query
from rolloupe.errors import NotFound
from rolloupe.index import OpenRun
from rolloupe.index.segments import parts as grid
from rolloupe.index.segments.launches import StepBlock, launches_of, older_steps
from rolloupe.query.run.trainer_files import Resumed, landmarks
from rolloupe.questions import LandmarkQuery
from tests.cli.support import rolloupe as rolloupe_
from tests.index.support import eventually, opened
from tests.thoroughness import each

Row = dict[str, Any]
GROUP = 4


def rows_of(step: int, reward: float, count: int = GROUP) -> list[Row]:
    """What a launch writes of a step: one prompt, and names of samples that each launch gives alike."""
    return [
        {"step": step, "uid": f"{step}-{n}", "prompt": f"p{step}", "response": f"r {reward} {n}", "reward": reward}
        for n in range(count)
    ]


def resumed(at: int = 2, until: int = 3, then: int = 5) -> list[Row]:
    """A launch that crashed in the middle of a step, and one that was resumed at an earlier step."""
    first = [row for step in range(until) for row in rows_of(step, 0.0)] + rows_of(until, 0.0, 2)
    return first + [row for step in range(at, then) for row in rows_of(step, 1.0)]


def as_relax(row: Row) -> Row:
    number = int(row["uid"].rpartition("-")[2])
    return {
        "rollout_id": row["step"], "group_index": row["step"], "sample_index": number, "status": "completed",
        **{key: row[key] for key in ("prompt", "response", "reward")},
    }  # fmt: skip


def as_verl(row: Row) -> Row:
    return {"input": row["prompt"], "output": row["response"], "score": row["reward"], "gts": "", **row}


def as_board(row: Row) -> Row:
    return {key: row[key] for key in ("step", "prompt", "response", "reward")} | {"response_tokens": ["a", "b"]}


LAYOUTS: dict[str, tuple[str, Callable[[Row], Row]]] = {
    "generic": ("rollouts.jsonl", dict),
    "relax": ("rollout_result/train/0.jsonl", as_relax),
    "verl": ("1.jsonl", as_verl),
    "rl_logging_board": ("rollout_data_rank0.jsonl", as_board),
}


def write(path: Path, rows: Sequence[Row], name: str = "generic", mode: str = "wb") -> Path:
    """Write rows into the file of a layout."""
    file, form = LAYOUTS[name]
    (path / file).parent.mkdir(parents=True, exist_ok=True)
    with (path / file).open(mode) as to:
        to.write(b"".join(json.dumps(form(row)).encode() + b"\n" for row in rows))
    return path / file


def means(run: OpenRun, split: str = "train") -> dict[int, tuple[int, float | None]]:
    """The number of samples and the mean reward of each step."""
    with contextlib.suppress(NotFound):  # while the file is replaced
        return {one.step: (one.samples, one.reward.mean) for one in query.steps(run, split)}
    return {}


NEWEST = {0: (4, 0.0), 1: (4, 0.0), 2: (4, 1.0), 3: (4, 1.0), 4: (4, 1.0)}
FAR_NEWEST = {**dict.fromkeys(range(2), (4, 0.0)), **dict.fromkeys(range(2, 8), (4, 1.0))}


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_newest_launch_counts_in_every_format(tmp_path: Path, name: str) -> None:
    write(tmp_path / "run", resumed(2, 6, 8), name)
    with opened(tmp_path / "run", tmp_path / "index") as library:
        (run,) = library.runs
        assert run.wait_all(30) and means(run) == FAR_NEWEST
        (split,) = query.splits(run)
        assert (split.samples, split.superseded) == (32, 18)
        assert landmarks(run, LandmarkQuery()).resumed == [Resumed(2, 2, 5)]
    with opened(tmp_path / "run", tmp_path / "index") as library:
        (run,) = library.runs
        assert means(run) == FAR_NEWEST
        before = [one.path for one in run.snapshot().segments]
        run.indexer.turn()
        assert [one.path for one in run.snapshot().segments] == before, "what is known is not looked for again"


def test_names_that_repeat_tell_of_a_launch_one_step_back_and_its_predecessors_samples_open(tmp_path: Path) -> None:
    write(tmp_path / "run", resumed())
    with rolloupe.open(tmp_path / "run", index_dir=tmp_path / "index") as runs:
        (run,) = runs
        assert {one.step: (one.samples, one.reward.mean) for one in run.steps("train")} == NEWEST
        assert [one.reward for one in run.samples(step=3)] == [1.0] * 4
        lines = (tmp_path / "run/rollouts.jsonl").read_bytes().splitlines(keepends=True)
        place, group = sum(map(len, lines[:8])), next(run.samples(step=2)).key.group
        old = run.sample(f"train/2/{group}/rollouts:{place}")
        assert old.row.reward == 0.0 and old.row.response.startswith("r 0.0 0")
        (broken,) = [one for one in run.lint().broken if one.rule == "several_launches"]
        assert broken.text.startswith("6 samples of steps 2 to 3 left out") and not broken.is_certain


def test_parts_of_a_file_are_scanned_in_any_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grid, "GRID_BYTES", 700)
    write(tmp_path / "run", resumed())
    with opened(tmp_path / "run", tmp_path / "index", processes=1) as library:
        (run,) = library.runs
        assert len(run.snapshot().segments) > 2 and means(run) == NEWEST


def test_a_launch_that_begins_while_the_run_is_open_is_followed(tmp_path: Path) -> None:
    rows = resumed()
    write(tmp_path / "run", rows[:14])
    with opened(tmp_path / "run", tmp_path / "index", follow=True) as library:
        (run,) = library.runs
        assert means(run)[3] == (2, 0.0)
        for stop, step, is_so in ((16, 2, (6, 1 / 3)), (18, 2, (4, 1.0)), (26, 3, (4, 1.0))):
            write(tmp_path / "run", rows[max(14, stop - 8 if stop == 26 else stop - 2) : stop], mode="ab")
            eventually(lambda step=step, is_so=is_so: means(run)[step] == pytest.approx(is_so))
        eventually(lambda: means(run) == NEWEST)
        write(tmp_path / "run", [row | {"reward": 2.0} for row in rows_of(1, 1.0) + rows_of(2, 1.0)], mode="ab")
        eventually(lambda: means(run) == NEWEST | {1: (4, 2.0), 2: (4, 2.0)})


def test_a_file_that_takes_the_place_of_one_of_several_launches_has_none(tmp_path: Path) -> None:
    write(tmp_path / "run", resumed())
    rows = [row for step in range(5, 14) for row in rows_of(step, 3.0)]
    with opened(tmp_path / "run", tmp_path / "index", follow=True) as library:
        (run,) = library.runs
        assert means(run) == NEWEST
        eventually(lambda: len(next(iter(run.indexer.sources.all().values())).source.launches) == 1)
        write(tmp_path / "run", rows)
        eventually(lambda: means(run) == dict.fromkeys(range(5, 14), (4, 3.0)))
        eventually(lambda: not next(iter(run.indexer.sources.all().values())).source.launches)
        assert {one.launch for one in run.snapshot().steps.values()} == {0}
        write(tmp_path / "run", resumed())
        eventually(lambda: means(run) == NEWEST)


def unnamed(rows: Sequence[Row]) -> list[Row]:
    return [{key: value for key, value in row.items() if key != "uid"} for row in rows]


def of_rank(rank: int, rows: Sequence[Row]) -> list[Row]:
    return [row | {"prompt": f"{row['prompt']} of {rank}", "uid": f"{rank}-{row['uid']}"} for row in rows]


STEPS = [rows_of(step, 0.0) for step in range(12)]
LATE = [row for step in range(1, 12) for row in STEPS[step][:3] + STEPS[step - 1][3:]]
EPOCHS = [row | {"step": row["step"] + 12 * epoch} for epoch in range(2) for one in STEPS for row in one]
SAME_STEPS = [row | {"epoch": epoch} for epoch in range(2) for one in STEPS for row in one]
FEW = [row for one in STEPS for row in one]
NO_LAUNCH: dict[str, list[Row]] = {
    "each step logged again when it is judged": [
        row for n in range(40) for row in rows_of(n + 1, 0.0) + (rows_of(n, 1.0) if n else [])
    ],
    "late samples of asynchronous trainers": LATE,
    "epochs that repeat prompts": EPOCHS,
    "epochs that count steps from 0 again": SAME_STEPS,
    "ranks one step apart": [
        row for n in range(1, 12) for row in of_rank(0, STEPS[n]) + of_rank(1, STEPS[n - 1])
    ],
    "ranks one step apart with the same prompts": unnamed(
        [row for n in range(1, 12) for row in STEPS[n] + STEPS[n - 1]]
    ),
    "ranks behind each other": of_rank(0, FEW) + of_rank(1, FEW),
    "ranks behind each other with the same prompts": unnamed(FEW + FEW),
    "a group with one name for all": [row | {"uid": f"g{row['step']}"} for row in FEW],
    "samples twice in a step": [row for one in STEPS for row in one + one],
    "evaluations of one step": rows_of(0, 0.0) * 3,
}  # fmt: skip


@pytest.mark.parametrize("what", NO_LAUNCH)
def test_what_is_no_launch_counts(tmp_path: Path, what: str) -> None:
    write(tmp_path / "run", NO_LAUNCH[what])
    with opened(tmp_path / "run", tmp_path / "index") as library:
        (run,) = library.runs
        assert sum(count for count, _ in means(run).values()) == len(NO_LAUNCH[what])


@pytest.mark.parametrize("both", [False, True])
def test_files_of_ranks_resume_together_or_not_at_all(tmp_path: Path, both: bool) -> None:
    run = tmp_path / "run"
    for rank in range(2):
        rows = of_rank(rank, resumed() if both or not rank else resumed()[:14])
        (run / f"rank{rank}.jsonl").parent.mkdir(exist_ok=True)
        (run / f"rank{rank}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with opened(run, tmp_path / "index") as library:
        (found,) = library.runs
        assert means(found)[2] == ((8, 1.0) if both else (12, pytest.approx(1 / 3)))
        assert bool(found.launch_doubts()) != both


def test_a_file_that_goes_back_far_with_other_prompts_is_only_named(tmp_path: Path) -> None:
    rows = [row for one in STEPS for row in one] + of_rank(1, [row for one in STEPS[5:] for row in one])
    write(tmp_path / "run", rows)
    with rolloupe.open(tmp_path / "run", index_dir=tmp_path / "index") as runs:
        assert runs.splits()[0].samples == len(rows)
        (doubt,) = runs.launch_doubts()
        assert "rollouts.jsonl goes back to step 5 of train" in doubt and "Next: " in doubt
        (broken,) = [one for one in runs.lint().broken if one.rule == "several_launches"]
        assert "goes back to step 5" in broken.text


@pytest.mark.parametrize(
    ("folder", "file", "form"),
    [
        ("rollout_result/train", "{}.jsonl", as_relax),
        ("", "{}.jsonl", as_verl),
        ("", "step_{}.jsonl", dict),
        ("rollouts", "{}.jsonl", dict),
    ],
)
def test_files_that_an_earlier_launch_left_are_named(
    tmp_path: Path, folder: str, file: str, form: Callable[[Row], Row]
) -> None:
    train = tmp_path / "run" / folder
    train.mkdir(parents=True)
    for step in range(8):
        path = train / file.format(step + 1)
        path.write_text("".join(json.dumps(form(row)) + "\n" for row in rows_of(step + 1, 0.0)))
        at_s = 1e9 + 60 * step + (86_400 if step in (3, 4, 5) else 0)
        os.utime(path, (at_s, at_s))
    with rolloupe.open(tmp_path / "run", index_dir=tmp_path / "index") as runs:
        (doubt,) = runs.launch_doubts()
        assert "from step 7 to 8 are older" in doubt
        assert runs.splits()[0].samples == 32


def test_the_command_line_says_what_was_left_out_and_what_is_doubtful(tmp_path: Path) -> None:
    write(tmp_path / "certain", resumed())
    write(tmp_path / "doubtful", unnamed(resumed()))
    for name in LEFT:  # a busy machine takes longer than doctor waits
        opened(tmp_path / name, tmp_path / "index").close()
    reports = [rolloupe_("doctor", tmp_path / name, "--index-dir", tmp_path / "index") for name in LEFT]
    assert "20 samples; 6 samples of steps that were recorded again left out" in reports[0].out
    assert "perhaps several launches: rollouts.jsonl goes back to step 2 of train" in reports[1].out
    for name, (superseded, doubts) in LEFT.items():
        (run,) = rolloupe_("doctor", tmp_path / name, "--index-dir", tmp_path / "index", "--json").json["runs"]
        assert (run["superseded"], len(run["launch_doubts"])) == (superseded, doubts)


LEFT: dict[str, tuple[dict[str, int], int]] = {"certain": ({"train": 6}, 0), "doubtful": ({}, 1)}


@each(
    ("times", "left"),
    [
        ([0, 60, 120, 180, 240], []),
        ([0, 60, 120 + 9000, 180 + 9000, 240], [4]),
        ([9000, 9060, 120, 180, 240], [2, 3, 4]),
        ([0, 60, 180, 120], []),  # asynchronous
        ([0, 1, 3, 2, 5, 4], []),  # copied
        ([5000, 100, 9000, 7000, 300], []),  # copied slowly
        ([9000, 60, 120, 180], []),  # one file was edited
        ([0, 60, 120, 180, 7200 + 240, 300], []),  # one file was edited
    ],
)
def test_times_of_files(times: list[float], left: list[int]) -> None:
    assert older_steps(dict(enumerate(times))) == left


def test_a_file_that_is_marked_is_no_change_of_the_run(tmp_path: Path) -> None:
    write(tmp_path / "run", resumed())
    with opened(tmp_path / "run", tmp_path / "index") as library:
        (run,) = library.runs
        (place,) = run.indexer.sources.all().values()
        assert len(place.source.launches) == 1 and not run.sources.has_grown


def test_steps_that_alternate_take_time_linear_in_their_number() -> None:
    steps = [step for n in range(100_000) for step in (n + 1, n)]
    began = time.process_time()
    launches_of(StepBlock("train", step, place, 8, step) for place, step in enumerate(steps))
    assert time.process_time() - began < 10
