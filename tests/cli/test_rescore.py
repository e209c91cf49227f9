"""`rolloupe rescore`."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from rolloupe.cli.commands.rescore import of_old_grader
from rolloupe.demo import RUNS
from rolloupe.insight.rescore.run import RewardChange, grader_share
from tests.cli.support import FORBIDDEN, HOSTILE, command, rolloupe
from tests.index.support import relax_run
from tests.insight.rescore.test_process import is_running
from tests.thoroughness import each

HONEST = Path(__file__).parents[2] / "examples/graders/honest.py"

FAILING = f"""
import sys
sys.path.insert(0, {str(HONEST.parent)!r})
from honest import honest

def fn(sample):
    print("flood " * 1000)
    if sample.id.endswith("/02/1") and sample.step == 1:
        while True: pass
    if sample.index == "2" and sample.step == 2:
        raise ValueError({HOSTILE!r})
    return honest(sample)
"""


def test_the_reward_of_the_demo_run_without_the_paid_repetition(short_grpo: Path, tmp_path: Path) -> None:
    state = ("--state-dir", tmp_path / "state", "--index-dir", tmp_path / "index")
    (tmp_path / "grader.py").write_text(FAILING)
    done = rolloupe("rescore", short_grpo, f"{tmp_path / 'grader.py'}:fn", *state, "--timeout", "0.5")
    assert done.code == 0 and not {*done.out} & {*FORBIDDEN} and "flood" not in done.out
    assert "1 took too long" in done.out and "20 raised an exception" in done.out
    assert "train/1/02/1  timeout" in done.out and "The score equals the reward in" in done.out

    found = rolloupe("rescore", short_grpo, f"{HONEST}:honest", *state, "--json").json
    change = found["change"]
    assert (found["samples"], found["failures"], change["groups"]) == (640, {}, 80)
    assert found["column"] == "rescored.honest" and 0.9 < change["correlation"] < 1 and change["equal"] < 1
    items = rolloupe("query", short_grpo, *state[2:], "--split", "train", "--limit", "1000", "--json")
    assert "rescored" not in items.out  # another state folder
    os.environ["ROLLOUPE_STATE_DIR"] = str(tmp_path / "state")
    try:
        items = rolloupe("query", short_grpo, *state[2:], "--split", "train", "--limit", "1000", "--json")
    finally:
        del os.environ["ROLLOUPE_STATE_DIR"]
    graded = [one for one in items.lines if "rescored.honest" in one]
    assert len(graded) == 640
    for one in graded:  # the run itself recorded how many checks were honest
        honest = one["correct"] + one["format"] + 0.06 * min(one["honest_checks"], 6)
        assert one["rescored.honest"] == pytest.approx(honest)


@pytest.mark.slow
def test_the_demo_run_is_graded_again_in_five_seconds(tmp_path: Path) -> None:
    state = ("--state-dir", tmp_path / "state", "--index-dir", tmp_path / "index")
    (tmp_path / "grader.py").write_text(FAILING)
    assert rolloupe("ls", RUNS / "tiny_grpo", *state[2:]).code == 0
    began = time.process_time()
    done = rolloupe("rescore", RUNS / "tiny_grpo", f"{tmp_path / 'grader.py'}:fn", *state, "--json").json
    assert time.process_time() - began < 5
    change = done["change"]
    assert (done["samples"], done["failures"]) == (14_393, {"exception": 20, "timeout": 1})
    assert (change["dead_before"], change["dead_after"]) == (3, 57)
    assert change["equal"] == pytest.approx(0.43, abs=0.01) and change["correlation"] == pytest.approx(0.98, abs=0.01)
    assert change["grader_share"] == pytest.approx(0.47, abs=0.01)


@each(
    ("means", "expected"),
    [
        ((0.5, 1.0, 0.5, 0.75), "The part of the gain that was the old grader's: 50.0%"),
        (
            (0.5, 0.51, 0.5, 0.919),
            "None of the gain was the old grader's: the score rose by more (+0.419) than the reward (+0.01)",
        ),
        (
            (0.5, 0.51, 0.5, 0.4),
            "All of the gain was the old grader's: the reward rose (+0.01), and the score fell (-0.1)",
        ),
    ],
)
def test_a_share_beyond_0_and_100_percent_is_said_in_words(means: tuple[float, ...], expected: str) -> None:
    old_first, old_last, new_first, new_last = means
    change = RewardChange(
        samples=9, equal=0.5, correlation=1.0, sign_changes=0.0, groups=0, dead_before=0, dead_after=0,
        first_steps=(0, 1), last_steps=(8, 9), old_first=old_first, old_last=old_last, new_first=new_first,
        new_last=new_last, grader_share=grader_share(old_first, old_last, new_first, new_last),
    )  # fmt: skip
    assert of_old_grader(change) == expected


def test_what_cannot_be_understood_is_refused(tmp_path: Path) -> None:
    relax_run(tmp_path / "run", 1)
    assert "Name the grader last" in rolloupe("rescore", tmp_path / "run").err
    done = rolloupe("rescore", tmp_path / "run", f"{tmp_path / 'none.py'}:fn")
    assert done.code == 2 and "there is no file" in done.err
    (tmp_path / "grader.py").write_text("def fn(sample): return None")
    state = ("--state-dir", tmp_path / "state")
    done = rolloupe("rescore", tmp_path / "run", f"{tmp_path / 'grader.py'}:fn", *state)
    assert done.code == 1 and "8 returned no number" in done.out and "No sample has both" in done.out
    assert rolloupe("rescore", tmp_path / "run", "--forget", "fn", *state).code == 0
    assert rolloupe("rescore", tmp_path / "run", "--forget", "fn", *state).code == 1


def test_a_grader_that_hangs_is_said(tmp_path: Path) -> None:
    relax_run(tmp_path / "run", 7)
    (tmp_path / "grader.py").write_text("def fn(sample):\n    while True: pass")
    state = ("--state-dir", tmp_path / "state", "--timeout", "0.02")
    done = rolloupe("rescore", tmp_path / "run", f"{tmp_path / 'grader.py'}:fn", *state)
    assert done.code == 1 and "50 took too long" in done.out
    assert "Ended after 50 of 56 samples: on the last 50 in a row, the grader had no result after 0.02 s" in done.err


def test_the_help_says_that_limits_are_no_sandbox() -> None:
    words = " ".join(rolloupe("rescore", "--help").out.split())
    assert "THE LIMITS ARE NOT A SANDBOX. The grader runs with your rights: run only code that you trust" in words


def test_control_c_ends_the_children_and_keeps_nothing(tmp_path: Path) -> None:
    relax_run(tmp_path / "run", 1)
    ids = tmp_path / "ids"
    code = (
        f"import os, time\ndef fn(sample):\n    open({str(ids)!r}, 'a').write(f'{{os.getpid()}} ')\n    time.sleep(60)"
    )
    (tmp_path / "grader.py").write_text(code)
    words = command(
        "rescore", tmp_path / "run", f"{tmp_path / 'grader.py'}:fn", "--timeout", "60", "--jobs", "1",
        "--state-dir", tmp_path / "state", "--index-dir", tmp_path / "index",
    )  # fmt: skip
    process = subprocess.Popen(  # which takes the signal, even where the tests were started so that they ignore it
        words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )  # fmt: skip
    until = time.monotonic() + 60
    while not ids.exists() or not ids.read_text().endswith(" "):
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130
    for number in ids.read_text().split():
        while is_running(int(number)):
            assert time.monotonic() < until
            time.sleep(0.02)
    assert list((tmp_path / "state/scores").rglob("*.*")) == []
