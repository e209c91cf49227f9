"""`rolloupe search`: what it finds, how it shows it, and what it says where there is nothing."""

import re
from pathlib import Path

import pytest

from tests.cli.support import rolloupe


@pytest.fixture
def run(demo_runs: Path) -> Path:
    return demo_runs / "other_formats/relax"


def test_the_samples_come_newest_step_first(run: Path) -> None:
    found = rolloupe("search", run, "Let Me check", "--json").lines
    assert len(found) == 37 and [one["step"] for one in found] == sorted((one["step"] for one in found), reverse=True)
    assert all(one["snippets"][0]["pieces"][1].lower() == "let me check" for one in found)
    assert found[0]["id"].startswith("train/2/") and found[0]["run"] == "relax"


def test_a_person_sees_steps_snippets_and_the_total(run: Path) -> None:
    done = rolloupe("search", run, "let me check", "--limit", "3")
    assert done.code == 0 and done.out.splitlines()[0] == "train, step 2"
    assert done.out.count("Let me check") == 3 and "<think>␊" in done.out
    assert done.err == "Found in 37 samples, 34 of them not listed: see --limit.\n"


def test_options_narrow_it(run: Path) -> None:
    every = {one["id"] for one in rolloupe("search", run, "compute", "--json").lines}
    said = {one["id"] for one in rolloupe("search", run, "compute", "--in", "user", "--json").lines}
    assert said < every
    few = rolloupe("search", run, r"^<think>.*\d{3}", "--regex", "--in", "response", "--step", "1", "--json").lines
    assert all(one["step"] == 1 for one in few)
    assert not rolloupe("search", run, "COMPUTE", "--case", "--json").lines
    assert not rolloupe("search", run, "comput", "--word", "--json").lines
    low = rolloupe("search", run, "the", "--where", "reward < 0.1", "--json").lines
    assert low and all(one["reward"] < 0.1 for one in low)


def test_several_runs_are_told_apart(demo_runs: Path) -> None:
    found = rolloupe("search", demo_runs, "tomatoes", "--json").lines
    assert {one["run"] for one in found} == {"verl_math"}
    assert "verl_math  train, step " in rolloupe("search", demo_runs, "tomatoes").out


def test_a_step_that_is_not_there_is_named_with_those_that_are(run: Path) -> None:
    nothing = rolloupe("search", run, "the", "--step", "7777")
    assert (nothing.code, nothing.out) == (1, "")
    assert re.match(r"Nothing was found. There is no step 7777. There are: train \(steps \d+ to \d+\)", nothing.err)
    assert "There is none of the steps 7777:." in rolloupe("search", run, "the", "--step", "7777:").err
    assert rolloupe("search", run, "zzz", "--step", "0:").err == "Nothing was found.\n"


def test_exit_codes(run: Path, tmp_path: Path) -> None:
    nothing = rolloupe("search", run, "zzz")
    assert (nothing.code, nothing.out, nothing.err) == (1, "", "Nothing was found.\n")
    broken = rolloupe("search", run, "a(b", "--regex")
    assert broken.code == 2 and "character 2: missing )" in broken.err
    assert rolloupe("search", run).code == 2
    assert rolloupe("search").code == 2
    assert rolloupe("search", run, "a", "--where", "none = 1").code == 2
    assert rolloupe("search", tmp_path / "missing", "a").code == 3
    assert rolloupe("search", tmp_path, "a").code == 1
