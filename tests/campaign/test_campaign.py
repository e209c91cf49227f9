"""Folders of strangers' files are read right, or refused with a line that then reads them."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.campaign.check import check, options_of
from tests.campaign.folders import Case, make, put_down
from tests.campaign.report import outcome, summary
from tests.campaign.style import Style
from tests.campaign.truth import plan
from tests.thoroughness import amount

AT_ONCE = 250
KNOWN = (
    19, 34, 48, 55, 56, 69, 76, 117, 126, 158, 179, 195, 207, 208, 222, 233, 253, 273, 284, 313, 323, 329, 340
)  # fmt: skip
"""Seeds whose folders `make test` opens: together they have every habit that a folder may have."""


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def right_case(folder: Path) -> Case:
    """A folder of usual files, which is read right."""
    case, rng = Case(0, folder), Random(2)
    ground = replace(plan(rng), is_verdict=False, system="", has_turns=False, has_tools=False, steps=[0, 1])
    roles = ("prompt", "response", "reward", "label", "advantage", "step", "group", "end", "logprobs")
    keys = {role: role for role in roles}
    keys |= {"response": "completion", "label": "ground_truth", "end": "finish_reason", "group": "group_id"}
    put_down(rng, case, ground, [Style(keys=keys, tokens="logprobs")] * 2)
    return case


def test_usual_files_are_read_right(tmp_path: Path) -> None:
    assert check(right_case(tmp_path / "run"), tmp_path / "index").verdict == "right"


@pytest.mark.parametrize("seed", KNOWN)
def test_a_folder_is_read_right(seed: int, tmp_path: Path) -> None:
    found = outcome(seed, tmp_path)
    assert (found.verdict, found.faults) == ("right", [])


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 2_000, AT_ONCE))
def test_folders_are_read_right_or_refused_with_a_line_that_reads_them(first: int, tmp_path: Path) -> None:
    found = [outcome(seed, tmp_path) for seed in range(first, first + AT_ONCE)]
    counts = Counter(one.verdict for one in found)
    assert counts["wrong"] == counts["lost"] == 0, summary(found)
    assert counts["right"] >= 0.9 * AT_ONCE, summary(found)


def test_a_seed_makes_the_same_folder_each_time(tmp_path: Path) -> None:
    for seed in range(amount(15, 60)):
        one, two = make(seed, tmp_path / f"{seed}a"), make(seed, tmp_path / f"{seed}b")
        assert files(one.folder) == files(two.folder)
        assert one.expected == two.expected != []


def test_the_campaign_has_every_habit(tmp_path: Path) -> None:
    met = Counter(habit for seed in range(250) for habit in make(seed, tmp_path / str(seed)).features.items())
    for habit in (
        ("container", "parquet"), ("container", "csv"), ("container", "gz"), ("container", "document"),
        ("layout", "arrays"), ("layout", "objects"), ("layout", "numbered"), ("layout", "batch"),
        ("shape", "messages"), ("shape", "sharegpt"), ("tokens", "whole"), ("tokens", "response"),
        ("spelling", "camel"), ("turns", "several"), ("mixed", "yes"), ("last line", "torn"),
        ("observed", "tau_bench"), ("observed", "lm_eval"),
    ):  # fmt: skip
        assert met[habit], habit


OTHER_TRUTHS: dict[str, dict[str, Any]] = {
    "reward": {"reward": 77.0},
    "prompt": {"prompt": "What?", "prompt_turns": ()},
    "response": {"response": "No.", "response_turns": ()},
    "step": {"step": 12_345},
    "label": {"label": "no such label"},
    "mask": {"mask": [False, True]},
    "logprobs": {"logprobs": [-77.0]},
    "advantage": {"advantage": 77.0},
    "status": {"status": "aborted"},
}
"""By the fact that is another."""


def test_another_truth_is_noticed(tmp_path: Path) -> None:
    case = right_case(tmp_path / "run")
    first = case.expected[0]
    for fact, change in OTHER_TRUTHS.items():
        case.expected[0] = replace(first, **change)
        found = check(case, tmp_path / "index")
        assert found.verdict == "wrong", fact
        assert fact in found.facts


def test_a_sample_too_many_and_another_group_are_noticed(tmp_path: Path) -> None:
    case = right_case(tmp_path / "run")
    *rest, last = case.expected
    case.expected = [*rest, replace(last, group="of its own")]
    assert "groups" in check(case, tmp_path / "index").facts
    case.expected = rest
    assert "count" in check(case, tmp_path / "index").facts


@pytest.mark.parametrize(
    ("line", "options"),
    [
        ("f: no text. Next: name the keys with --map", {}),
        ('f: no text (keys: a = "b"). Next: name the keys with --map response=KEY,reward=KEY', {}),
        ("f: no text. Next: --map prompt=in.text,reward=marks, if these fit", {"prompt": "in.text", "reward": "marks"}),
        ("f: no text. Next: --map 'prompt=The Question'", {"prompt": "The Question"}),
        ('f: no text. Next: pass --map FILE with these lines: prompt = "in.text"', {"prompt": "in.text"}),
    ],
)
def test_the_options_of_a_line_are_taken_as_they_stand(line: str, options: dict[str, str]) -> None:
    assert options_of(line) == ({"fields": options} if options else {})


def test_a_refused_folder_is_opened_as_its_line_says(tmp_path: Path) -> None:
    """Whether the words of a refusal are taken as they stand is seen by a folder that no word can open."""
    case = Case(0, tmp_path / "run")
    case.folder.mkdir()
    (case.folder / "notes.jsonl").write_text('{"spam": "eggs", "ham": "toast"}\n', encoding="utf-8")
    assert check(case, tmp_path / "index").verdict == "lost"
