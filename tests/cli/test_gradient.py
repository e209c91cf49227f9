"""`rolloupe gradient`."""

from pathlib import Path

from rolloupe import Recorder
from tests.cli.support import rolloupe
from tests.insight.test_gradient import rows_of, run_of


def test_the_shares_of_the_gradient_are_a_table_or_objects(tmp_path: Path) -> None:
    rows = rows_of([0.0, 0.0, 2.0, 2.0, 0.5, 0.5, 0.7, 0.7, 1.0, 1.0, 1.0, 1.0], [0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1])
    path = run_of(tmp_path, [rows, rows]).path
    done = rolloupe("gradient", path)
    assert done.code == 0 and "Of 6 groups 2 have equal rewards" in done.out
    assert any(line.split()[-4:] == ["8", "33.3%", "1.0%", "50.0%"] for line in done.out.splitlines())
    assert "Prompts of several steps, by reward.acc: 2 always right, 0 never" in done.out
    first, *shares = rolloupe("gradient", path, "--steps", "1", "--json").lines
    assert (first["groups"], first["dead"], first["step_min"]) == (3, 1, 1)
    assert shares[0]["by"] == "shaping" and {one["by"] for one in shares[1:-1]} == {"length", "outcome"}
    assert {**shares[-1], "run": ""} == {"run": "", "step": 1, "groups": 3, "dead": 1}
    done = rolloupe("gradient", path, "--env", "none")
    assert done.code == 1 and "no trained sample" in done.err


def test_runs_without_a_gradient_are_said_in_words(tmp_path: Path) -> None:
    rows = rows_of([1.0] * 8)
    assert "all 2 groups have equal rewards: no gradient" in rolloupe("gradient", run_of(tmp_path, [rows]).path).out
    with Recorder(tmp_path / "empty", code=None) as recorder:
        recorder.metrics(0, {"loss": 1.0})
    done = rolloupe("gradient", str(tmp_path / "empty"))
    assert done.code == 1 and "no trained sample there has a reward" in done.err
