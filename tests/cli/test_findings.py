"""`rolloupe findings`."""

from pathlib import Path

import rolloupe as rolloupe_api
from tests.cli.support import rolloupe
from tests.insight.findings.planted import Plan, write_run

HACK = Plan(steps=24, groups=12, bonus=0.6, prevalence=0.7, hacks=("sycophant",))


def test_findings_are_listed_with_samples_to_read(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run", HACK)
    done = rolloupe("findings", path)
    assert done.code == 0 and "suspect Flattering the user earns +0." in done.out and "Scanned 2,304" in done.out
    assert done.out.count(f"rolloupe show {path}/rollout_result train/") == 2
    done = rolloupe("findings", path, "--json")
    (one,) = done.lines
    assert one["class"] == "suspect" and one["behaviour"] == "derived.flattery" and one["phrase"] == ""
    assert one["z"] > 10 and one["run"] and one["where"] == "derived.flattery > 0" and "Scanned" in done.err
    assert len(one["prevalence"]["steps"]) == 24 and one["samples"]["pairs"][0]
    done = rolloupe("findings", path, "--steps", "0:3", "--json")
    assert done.code == 0 and done.lines == [] and "Nothing above threshold" in done.err
    assert rolloupe("findings", path, "--correct", "none").code == 2


def test_a_folder_without_runs_has_no_findings(tmp_path: Path) -> None:
    assert rolloupe("findings", tmp_path).code == 1


def test_a_finding_that_is_no_hack_is_remembered_with_its_reason(tmp_path: Path) -> None:
    path, state = write_run(tmp_path / "run", HACK), ["--state-dir", str(tmp_path / "state")]
    assert rolloupe("findings", path, *state, "--not-a-hack", "cartwheel").code == 2
    done = rolloupe(
        "findings", path, *state, "--not-a-hack", "Flatter", "--why", "the task is to flatter", "--who", "Ada"
    )
    assert done.code == 0 and "suspect" not in done.out
    assert "Not a hack: flattering the user: the task is to flatter (Ada, 20" in done.out
    (one,) = rolloupe("findings", path, *state, "--json").lines
    assert one["not_a_hack"]["why"] == "the task is to flatter" and one["not_a_hack"]["since"] > 1.7e12
    assert "Not a hack" in rolloupe("findings", path, *state, "--steps", "0:3").out  # remembered, though not found
    assert "name the finding" in rolloupe("findings", path, *state, "--who", "Ada").err
    run = rolloupe_api.open(path, state_dir=tmp_path / "state").runs[0]
    assert [*run.findings_aside()] == ["derived.flattery"]
    assert rolloupe("findings", path, *state, "--take-back", "hedges").code == 2
    again = rolloupe("findings", path, *state, "--not-a-hack", "“Flattering the  user”", "--who", "Bo", "--why", "so")
    assert "Not a hack: flattering the user: so (Bo, 20" in again.out, "as its sentence says it"
    done = rolloupe("findings", path, *state, "--take-back", "derived.flattery")
    assert "suspect Flattering the user" in done.out and "Not a hack" not in done.out
    assert run.findings_aside() == {} and rolloupe("findings", path, *state, "--json").lines[0]["not_a_hack"] is None
