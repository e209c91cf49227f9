"""`rolloupe findings`."""

from pathlib import Path

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
