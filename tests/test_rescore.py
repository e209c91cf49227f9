"""`run.rescore()`: a run scored again, and its scores wherever samples are shown, listed, filtered and charted."""

import fcntl
import gc
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rolloupe
from rolloupe.errors import BadQuery, NotFound, NotWritable
from rolloupe.index import Library
from rolloupe.query import CurveQuery
from rolloupe.state import State
from rolloupe.state.scores import ScoreFiles
from tests.index.support import contents, eventually, lines, relax_run, row

GRADER = """
def fn(sample):
    if sample.index == "5":
        raise ValueError("five")
    return {"score": int(sample.response.split()[1]) / 10, "twice": int(sample.response.split()[1]) / 5, "who": "me"}

def group_mean(samples):
    return [sum(one.reward for one in samples) / len(samples) + len(samples)] * len(samples)
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A run of three steps of eight samples without uids, and beside it the file of a grader."""
    relax_run(tmp_path / "run")
    (tmp_path / "grader.py").write_text(GRADER)
    return tmp_path


def opened(place: Path, run: str = "run", index: str = "index") -> "rolloupe.Runs":
    return rolloupe.open(place / run, index_dir=place / index, state_dir=place / "state")


def rescored(place: Path, function: str = "fn", **more: object) -> None:
    with opened(place) as run:
        run.rescore(f"{place / 'grader.py'}:{function}", **more)  # type: ignore[pyrefly:bad-argument-type]


def test_scores_are_a_sample_metric_that_lists_filters_charts_and_samples_show(place: Path) -> None:
    before = contents(place / "run")
    with opened(place) as run:
        found = run.rescore(f"{place / 'grader.py'}:fn")
        assert (found.samples, found.failures, found.column) == (24, {"exception": 3}, "rescored.fn")
        assert [one.id for one in found.failed] == ["train/0/1/5", "train/1/1/5", "train/2/1/5"]
        assert found.failed[0].reason == "ValueError: five (line 4 of grader.py)"
        assert (found.change.samples, found.change.groups) == (21, 6)
    assert contents(place / "run") == before
    with opened(place) as run:
        assert {"rescored.fn", "rescored.fn.twice"} <= {*run.columns()}
        items = list(run.samples(where="rescored.fn > 0.5", sort="rescored.fn", descending=True))
        assert [item.metrics["rescored.fn"] for item in items] == [0.7, 0.7, 0.7, 0.6, 0.6, 0.6]
        assert [item.tags for item in run.samples(where="rescored.fn.failed = exception", limit=1)] == [
            {"rescored.fn.failed": "exception", "rescored.fn.reason": "ValueError: five (line 4 of grader.py)"}
        ]
        sample = run.sample("train/1/0/3")
        assert (sample.row.metrics["rescored.fn"], sample.row.metrics["rescored.fn.twice"]) == (0.3, 0.6)
        assert sample.row.tags["rescored.fn.who"] == "me"
        assert [one.row.metrics["rescored.fn"] for one in map(run.sample, ["train/1/0/1", "train/1/0/2"])] == [0.1, 0.2]
        curve = run.curve(CurveQuery(kind="sample", name="rescored.fn", source="train"))
        assert curve.values.tolist() == pytest.approx([np.mean([0, 1, 2, 3, 4, 6, 7]) / 10] * 3)
        assert "rescored.fn" in run.samples().arrow().column_names
        assert run.problems() == [] and run.failures() == []


def test_steps_are_those_of_the_command_line(place: Path) -> None:
    with opened(place) as run:
        asked = ((0, 1), 1, (1, None), (None, 0), None)
        assert [run.rescore(f"{place / 'grader.py'}:fn", steps=one).samples for one in asked] == [16, 8, 16, 8, 24]


def test_scores_written_again_at_the_same_size_change_what_a_list_is_of(place: Path) -> None:
    stamps = []
    (place / "helper.py").write_text("")
    own = (
        f"import helper, subprocess, sys\nsubprocess.run([sys.executable, '-c', 'import helper'], cwd={str(place)!r})\n"
    )
    for index in "12":
        (place / "grader.py").write_text(
            f"{own}def fn(sample):\n    return 1.0 if sample.index == '{index}' else 0.0\n"
        )
        os.utime(place / "grader.py", (1e9, 1e9))  # an edit within the second, which Python's cache takes for none
        rescored(place)
        with opened(place) as run:
            stamps.append([step.stamp for step in run.indexed().snapshot().steps.values()])
    assert stamps[0] != stamps[1]
    assert not (place / "__pycache__").exists()


def test_the_garbage_collector_is_as_before_even_after_a_grader_that_cannot_be_used(place: Path) -> None:
    before = gc.get_threshold()
    rescored(place)
    (place / "broken.py").write_text("1 / 0")
    with opened(place) as run, pytest.raises(BadQuery):
        run.rescore(f"{place / 'broken.py'}:fn")
    assert gc.get_threshold() == before


def test_what_a_killed_process_left_is_removed_and_what_another_writes_is_kept(place: Path) -> None:
    rescored(place)
    (scores,) = (place / "state" / "scores").rglob("fn.jsonl")
    left, written, young = (scores.with_name(f".fn.jsonl.{n}.tmp") for n in range(3))
    code = (
        "import sys, time, pathlib\n"
        "from rolloupe.storage import atomic\n"
        "with atomic.replacing(pathlib.Path(sys.argv[1])):\n"
        "    print(flush=True)\n"
        "    time.sleep(600)"
    )
    killed = subprocess.Popen([sys.executable, "-c", code, str(scores)], stdout=subprocess.PIPE)
    with killed:
        assert killed.stdout is not None and killed.stdout.readline()
        killed.kill()
    (of_killed,) = scores.parent.glob(".*.tmp")
    of_killed.rename(left)
    young.write_bytes(b"")
    with written.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        for one in (left, written):
            os.utime(one, (1e9, 1e9))
        rescored(place)
        assert not left.exists() and written.exists() and young.exists()


def test_rewards_stay_what_they_are(place: Path) -> None:
    def facts() -> list[object]:
        with opened(place) as run:
            found: list[object] = [run.steps(), run.splits(), run.groups(0)]
            return [repr(one).replace(repr(run.steps()[0].stamp), "") for one in found]

    before = facts()
    rescored(place)
    assert facts() == before
    with opened(place) as run:
        assert run.steps()
        info = {one.name: one for one in rolloupe.query.catalogue(run.indexed()).columns}
        assert (info["reward"].low, info["reward"].high) == (0.0, 1.0)


def test_a_group_is_graded_together_and_some_steps_alone(place: Path) -> None:
    rescored(place, "group_mean", steps=(1, 1), save="mean")
    with opened(place) as run:
        items = list(run.samples())
    assert {item.metrics.get("rescored.mean") for item in items if item.step == 1} == {4.5}
    assert {item.metrics.get("rescored.mean") for item in items if item.step != 1} == {None}


def test_a_grader_that_is_slow_for_one_sample_holds_up_no_other(tmp_path: Path) -> None:
    """The first sample waits until the last one is graded."""
    relax_run(tmp_path / "run", steps=20)
    (tmp_path / "grader.py").write_text(
        "import os, time\n"
        "def fn(sample):\n"
        f"    last = {str(tmp_path / 'last')!r}\n"
        "    if sample.id == 'train/19/1/7': open(last, 'w').close()\n"
        "    while sample.id == 'train/0/0/0' and not os.path.exists(last): time.sleep(0.01)\n"
        "    return 1.0\n"
    )
    with opened(tmp_path) as run:
        found = run.rescore(f"{tmp_path / 'grader.py'}:fn", timeout_s=60.0)
    assert (found.samples, found.failures) == (160, {})


@pytest.mark.parametrize("name", ["fn", "many"])
def test_a_grader_that_hangs_ends_early_and_keeps_what_it_graded(tmp_path: Path, name: str) -> None:
    """Each group has four samples: the sixth hangs on all but the first, and so do those behind it."""
    relax_run(tmp_path / "run", steps=10)
    (tmp_path / "grader.py").write_text(
        "def fn(sample):\n"
        "    while sample.step > 2 or sample.step == 2 and sample.index > '4': pass\n"
        "    return 1.0\n"
        "def many(samples): return [fn(one) for one in samples]\n"
    )
    with opened(tmp_path) as run:
        found = run.rescore(f"{tmp_path / 'grader.py'}:{name}", timeout_s=0.02)
    assert (found.samples, found.total, found.failures) == (21 + 50, 80, {"timeout": 50})
    with opened(tmp_path) as run:
        assert len(list(run.samples(where=f"{found.column} = 1"))) == 21


def test_new_scores_replace_those_of_the_same_name_and_others_stay(place: Path) -> None:
    rescored(place)
    rescored(place, "group_mean")
    (place / "grader.py").write_text("def fn(sample): return 9")
    rescored(place)
    with opened(place) as run:
        metrics = {name: value for name, value in run.sample("train/0/0/1").row.metrics.items() if "rescored" in name}
        assert metrics == {"rescored.fn": 9.0, "rescored.group_mean": 4.5}
        assert run.forget_scores("fn") and not run.forget_scores("fn")
    with opened(place) as run:
        assert "rescored.fn" not in run.columns() and "rescored.group_mean" in run.columns()


def test_scores_survive_a_new_index_a_move_and_more_steps(place: Path) -> None:
    rescored(place)
    shutil.rmtree(place / "index")
    (place / "run").rename(place / "moved")
    relax_run(place / "moved", steps=4)
    with opened(place, "moved") as run:
        items = list(run.samples(where="rescored.fn > 0.5"))
        assert [item.step for item in items] == [0, 0, 1, 1, 2, 2]


def test_a_record_that_was_replaced_by_another_has_no_score(place: Path) -> None:
    rescored(place)
    train = place / "run/rollout_result/train"
    (train / "1.jsonl").write_bytes(lines([row(1, number, prompt=f"Other {number}?") for number in range(8)]))
    with opened(place) as run:
        assert {item.step for item in run.samples(where="rescored.fn >= 0")} == {0, 2}


def test_a_viewer_that_is_open_shows_new_scores(place: Path) -> None:
    scores = ScoreFiles(place / "state")
    with Library([place / "run"], index_dir=place / "index", follow=True, scores=scores) as library:
        (viewed,) = library.runs
        assert viewed.wait(30) and not viewed.snapshot().scores
        rescored(place)
        eventually(lambda: "rescored.fn" in viewed.snapshot().metrics)
        assert [file.what for file in viewed.sources.files()] == ["samples"] * 3
        with opened(place) as run:
            run.forget_scores("fn")
        eventually(lambda: "rescored.fn" not in viewed.snapshot().metrics)


def test_what_cannot_be_done_is_refused_and_changes_nothing(place: Path) -> None:
    rescored(place)
    (place / "broken.py").write_text("def fn(sample) return 1")
    with opened(place) as run:
        with pytest.raises(BadQuery, match=r"broken.py:fn cannot be used: SyntaxError"):
            run.rescore(f"{place / 'broken.py'}:fn")
        with pytest.raises(NotFound, match="no split"):
            run.rescore(f"{place / 'grader.py'}:fn", split="eval/none")
        assert run.sample("train/0/0/3").row.metrics["rescored.fn"] == 0.3
    assert [path.name for path in (place / "state/scores").rglob("*.*")] == ["fn.jsonl"]
    shutil.rmtree(place / "state")
    (place / "state").write_text("a file")
    with opened(place) as run, pytest.raises(NotWritable):
        run.rescore(f"{place / 'grader.py'}:fn")


def test_damaged_scores_are_problems(place: Path) -> None:
    rescored(place)
    (path,) = (place / "state/scores").rglob("fn.jsonl")
    path.write_bytes(path.read_bytes().replace(b'"rescored.fn":0.3', b'"rescored.fn":"x"', 1) + b'{"place"')
    with opened(place) as run:
        assert [problem.reason for problem in run.problems()] == ["not a line of scores"] * 2
        assert len(list(run.samples(where="rescored.fn >= 0"))) == 20


def test_how_scores_were_made_is_remembered(place: Path) -> None:
    rescored(place, steps=(1, None))
    state = State(place / "state")
    (owner,) = state.owners()
    (item,) = state.of(owner.key, "layout")
    state.close()
    assert isinstance(item.value, dict)
    about = item.value["fn"]
    assert (about["grader"], about["split"], about["steps"]) == (f"{place / 'grader.py'}:fn", "train", "1:")


def test_a_sample_that_cannot_be_read_is_a_failure_of_its_own(place: Path) -> None:
    path = place / "run/rollout_result/train/1.jsonl"
    with opened(place) as run:
        assert run.steps()
        path.write_bytes(path.read_bytes().replace(b'{"rollout_id"', b'x"rollout_id"', 1))
        found = run.rescore(f"{place / 'grader.py'}:fn")
    assert found.failures == {"exception": 3, "unreadable": 1}
    assert found.failed[1].id == "train/1/0/0" and "the sample could not be read" in found.failed[1].reason
