"""`rolloupe check`."""

from pathlib import Path

import pytest

from rolloupe import Recorder
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
    (alarm,) = rolloupe("check", broken, "--json").lines
    assert (alarm["rule"], alarm["severity"], alarm["first_step"]) == ("not_finite", "error", 4) and alarm["words"]


def test_a_run_without_samples_shows_the_curve_in_their_place(tmp_path: Path) -> None:
    with project(tmp_path / "p.db") as database:
        database.execute("INSERT INTO configs (run_id, run_name, config, created_at) VALUES ('b', 'm', '{}', '')")
    done = rolloupe("check", tmp_path / "p.db", "--run", "n")
    assert done.code == 1 and "NaN or infinite at 1 step" in done.out
    assert done.out.rstrip().endswith(f"rolloupe metrics {tmp_path / 'p.db'} loss --run n")


def test_a_rule_can_be_left_out_and_an_unknown_one_is_refused(broken: Path) -> None:
    done = rolloupe("check", broken, "--without", "not_finite")
    assert (done.code, done.err) == (0, "") and "Nothing stands out" in done.out
    done = rolloupe("check", broken, "--without", "nan")
    assert done.code == 2 and "No rule 'nan'; there are: entropy_collapse" in done.err
    assert "not_finite (error): a metric of the update" in rolloupe("check", broken, "--rules").out


def test_a_rule_is_switched_off_with_a_reason_until_it_is_switched_on(broken: Path, tmp_path: Path) -> None:
    state = ("--state-dir", tmp_path / "state")
    done = rolloupe("check", broken, "--off", "not_finite", "--because", "a known step", *state)
    assert done.code == 0 and f"Nothing stands out: {len(RULES) - 1} rules looked" in done.out
    for _ in range(2):
        done = rolloupe("check", broken, "--json", *state)
        assert (done.code, done.lines) == (0, [])
        assert "Switched off for run: not_finite, because a known step." in done.err
    assert rolloupe("check", broken).code == 1, "another person's folder"
    done = rolloupe("check", broken, "--on", "not_finite", *state)
    assert (done.code, done.err) == (1, "") and "NaN or infinite" in done.out
    assert "No rule 'nan'" in rolloupe("check", broken, "--off", "nan", *state).err
