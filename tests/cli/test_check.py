"""`rolloupe check`."""

import shutil
from pathlib import Path

import pytest

import rolloupe as rolloupe_package
from rolloupe import Recorder
from rolloupe.errors import BadQuery
from rolloupe.insight import RULES
from tests.cli.support import FORBIDDEN, HOSTILE, rolloupe
from tests.formats.reading.trackers.test_databases import project


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A run whose loss is NaN at a step, with a hostile name of a metric."""
    with Recorder(tmp_path / "run", code=None) as recorder:
        for step in range(12):
            recorder.sample(step=step, prompt="p", response="r", reward=1.0)
            recorder.metrics(step, {f"loss {HOSTILE}": float("nan") if step == 4 else 0.5})
    return tmp_path / "run"


def test_an_error_ends_with_1_and_says_which_samples_show_it(broken: Path) -> None:
    done = rolloupe("check", broken)
    assert done.code == 1 and not set(done.out) & set(FORBIDDEN)
    assert (
        "error NaN or infinite at 1 step, first at 4" in done.out
        and f"rolloupe query {broken} --split train --step 4" in done.out
    )
    alarm, *unchecked = rolloupe("check", broken, "--json").lines
    reasons = {one["rule"]: one["unchecked"] for one in unchecked}
    assert reasons["entropy_collapse"] == "the run has no entropy"
    assert reasons["reward_collapse"] == "12 steps with rewards; 20 are needed"
    assert f"{len(RULES) - len(reasons)} rules looked at the curves; {len(reasons)} could not:" in done.out
    assert "  reward_collapse: 12 steps with rewards; 20 are needed\n" in done.out
    assert (alarm["rule"], alarm["severity"], alarm["first_step"]) == ("not_finite", "error", 4) and alarm["words"]


def test_a_run_without_samples_shows_the_curve_in_their_place(tmp_path: Path) -> None:
    with project(tmp_path / "p.db") as database:
        database.execute("INSERT INTO configs (run_id, run_name, config, created_at) VALUES ('b', 'm', '{}', '')")
    done = rolloupe("check", tmp_path / "p.db", "--run", "n")
    assert done.code == 1 and "NaN or infinite at 1 step" in done.out
    assert f"\n  rolloupe metrics {tmp_path / 'p.db'} loss --run n\n" in done.out


def test_a_rule_can_be_left_out_and_an_unknown_one_is_refused(broken: Path) -> None:
    done = rolloupe("check", broken, "--without", "not_finite")
    assert (done.code, done.err) == (0, "") and "Nothing stands out" in done.out
    done = rolloupe("check", broken, "--without", "nan")
    assert done.code == 2 and "No rule 'nan'; there are: cut_at_limit" in done.err
    assert "not_finite (error): a metric of the update" in rolloupe("check", broken, "--rules").out


def test_a_rule_is_switched_off_with_a_reason_until_it_is_switched_on(broken: Path, tmp_path: Path) -> None:
    state = ("--state-dir", tmp_path / "state")
    done = rolloupe("check", broken, "--off", "not_finite", "--because", "a known step", *state)
    assert done.code == 0 and "Nothing stands out: " in done.out and " could not" in done.out
    for _ in range(2):
        done = rolloupe("check", broken, "--json", *state)
        assert done.code == 0 and all("unchecked" in one for one in done.lines) and len(done.lines) == 16
        assert "Switched off for run: not_finite, because a known step." in done.err
    assert rolloupe("check", broken).code == 1, "another person's folder"
    done = rolloupe("check", broken, "--on", "not_finite", *state)
    assert (done.code, done.err) == (1, "") and "NaN or infinite" in done.out
    assert "No rule 'nan'" in rolloupe("check", broken, "--off", "nan", *state).err


def test_a_rule_is_switched_off_with_a_reason_alone_and_for_runs_that_are_named(broken: Path, tmp_path: Path) -> None:
    shutil.copytree(broken, tmp_path / "runs/one")
    shutil.copytree(broken, tmp_path / "runs/two")
    state = ("--state-dir", tmp_path / "state")
    for words, refusal in (
        (("--off", "not_finite"), "--off needs --because REASON"),
        (("--off", "not_finite", "--because", "  "), "--off needs --because REASON"),
        (("--because", "why"), "--because says why --off RULE switches a rule off"),
        (("--off", "not_finite", "--because", "why"), "2 runs are there: --off and --on act on runs that you name"),
        (("--on", "not_finite"), "Name one with --run, or each by its path; they are one, two"),
    ):
        done = rolloupe("check", tmp_path / "runs", *words, *state)
        assert done.code == 2 and refusal in done.err and "Switched off" not in done.err
    done = rolloupe("check", tmp_path / "runs", "--run", "one", "--off", "not_finite", "--because", "why", *state)
    assert (done.code, done.err) == (0, "Switched off for one: not_finite, because why.\n")
    done = rolloupe("check", tmp_path / "runs", *state)
    assert done.code == 1 and "two: NaN or infinite" in done.out and "one: nothing stands out: " in done.out
    both = (tmp_path / "runs/one", tmp_path / "runs/two")
    done = rolloupe("check", *both, "--off", "lost_samples", "--because", "small", *state)
    assert done.err.count("lost_samples") == 2
    with rolloupe_package.open(broken) as run, pytest.raises(BadQuery, match="say why 'not_finite' is switched off"):
        run.switch_rule("not_finite", off=" ")


def test_a_run_that_is_too_short_for_every_rule_says_so(tmp_path: Path) -> None:
    with Recorder(tmp_path / "run", code=None) as recorder:
        recorder.sample(step=0, prompt="p", response="r", reward=1.0)
    done = rolloupe("check", tmp_path / "run", "--without", "not_finite")
    assert done.code == 0 and done.out.startswith("No rule could be checked:\n") and "stands out" not in done.out
    with rolloupe_package.open(tmp_path / "run") as run:
        answer = run.check(["not_finite"])
        assert (list(answer), answer.checked) == ([], []) and len(answer.unchecked) == len(RULES) - 1
