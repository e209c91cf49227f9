"""`rolloupe lint`."""

import json
from pathlib import Path

from tests.cli.support import rolloupe, row, write_run


def test_certain_rules_come_first_and_decide_the_exit_code(tmp_path: Path) -> None:
    rows = [row(index) for index in range(8)]
    assert rolloupe("lint", write_run(tmp_path / "sound", {0: rows})).code == 0
    rows[1]["reward"], rows[2] = float("nan"), rows[2] | {"status": "truncated", "reward": 9.0}
    path = write_run(tmp_path / "broken", {0: rows})
    done = rolloupe("lint", path)
    assert done.code == 1 and done.out.startswith("certain The reward or the advantage of 1 sample is NaN")
    assert "look 1 of 1 truncated sample was rewarded" in done.out and "rolloupe show" in done.out
    assert "Checked 8 samples by" in done.out and "could not be checked:\n" in done.out
    assert "\n  equal_logprobs, positive_logprobs: the index has no" in done.out, "one line for each reason"
    done = rolloupe("lint", path, "--json")
    first, second, *others = map(json.loads, done.out.splitlines())
    assert (first["rule"], first["certain"], first["count"]) == ("not_finite", True, 1) and len(first["samples"]) == 1
    assert (second["rule"], second["certain"]) == ("truncated_rewards", False)
    assert others and all(one["unchecked"] for one in others)
    assert rolloupe("lint", path, "--steps", "5:9").code == 0


def test_rules_are_listed_without_a_run(tmp_path: Path) -> None:
    done = rolloupe("lint", "--rules", tmp_path)
    assert (
        done.code == 0 and done.out.startswith("advantage_order (certain): ") and "truncated_rewards (look)" in done.out
    )
    assert rolloupe("lint", tmp_path).code == 1
