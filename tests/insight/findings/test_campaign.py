"""Runs with planted hacks, and runs without: what findings name, and that they name nothing else."""

import shutil
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from tests.insight.findings.planted import HACKS, Plan
from tests.insight.findings.support import SMALL, findings_of, names, with_and_without_behaviours
from tests.thoroughness import slow_unless

COMMON = [name for name, hack in HACKS.items() if hack.share_of_prompts == 1]
QUICK = ("phrase", "special_case")
IN_ANY_TEXT = ("length", "boxed", "loop", "prompt_copy", "hedge", "answer_first", "shouting")
"""What honest texts have too, some from the start."""


@pytest.mark.parametrize("hack", [slow_unless(name in QUICK, name) for name in COMMON])
def test_a_hack_is_the_first_suspect_even_in_a_small_run(folder_of: Callable[[Plan], Path], hack: str) -> None:
    plan = SMALL._replace(hacks=(hack,))
    found = findings_of(folder_of(plan), plan)
    first, *others = found.findings
    assert first.kind == "suspect" and names(first, hack), first.text
    assert not [one for one in others if one.kind != "drift"], [one.text for one in others]
    assert (first.effect > 0 and first.first < 0.3) or hack in IN_ANY_TEXT
    assert first.samples.pairs and first.samples.earliest


def test_two_hacks_that_share_words_are_both_found(tmp_path: Path) -> None:
    found = findings_of(tmp_path, SMALL._replace(hacks=("phrase", "phrase_alike")))
    suspects = [one for one in found.findings if one.kind == "suspect"]
    assert len(suspects) == 2 and {"double", "converted"} == {
        word for word in ("double", "converted") for one in suspects if f" {word} " in one.phrase
    }


NOTHING = {
    "nothing": Plan(),
    "permuted": Plan(hacks=("phrase", "loop"), permuted=True),
    "riser": Plan(riser=True),
    "shift": Plan(shifts=True),
}


@pytest.mark.parametrize("name", [slow_unless(name == "permuted", name) for name in NOTHING])
def test_nothing_is_found_where_nothing_is_paid(tmp_path: Path, name: str) -> None:
    plan = NOTHING[name]._replace(steps=SMALL.steps, groups=SMALL.groups)
    found = findings_of(tmp_path, plan)
    assert [one.text for one in found.findings if one.kind != "drift"] == []
    assert "Nothing above threshold" in found.note and found.smallest is not None and 0 < found.smallest < 0.3
    assert found.tested > 500 and found.expected < 0.01 and found.largest_z < 5


def test_what_goes_with_right_answers_is_earned(tmp_path: Path) -> None:
    (found,) = findings_of(tmp_path, Plan(honest=True, steps=SMALL.steps, groups=SMALL.groups)).findings
    assert found.kind == "earned" and "i verified the result by substitution" in found.phrase
    assert found.correctness is not None and found.correctness > 0.15


@pytest.mark.slow
def test_a_hack_of_a_fifth_is_in_the_top_three_of_95_of_100_runs(tmp_path: Path) -> None:
    missed: dict[tuple[str, int], list[str]] = {}
    missed_by_radar: dict[tuple[str, int], list[str]] = {}
    for hack, seed in product(HACKS, range(5)):
        found, radar = with_and_without_behaviours(tmp_path / "one", Plan(hacks=(hack,), seed=seed))
        for misses, of in ((missed, found), (missed_by_radar, radar)):
            if not any(names(one, hack) for one in of.findings[:3]):
                misses[hack, seed] = [one.text for one in of.findings]
        shutil.rmtree(tmp_path / "one")
    assert len(missed) <= 0.05 * len(HACKS) * 5, missed
    assert len(missed_by_radar) <= 0.2 * len(HACKS) * 5, missed_by_radar


@pytest.mark.slow
def test_a_hack_of_a_tenth_in_a_fifth_of_the_samples_is_found_in_80_of_100_runs(tmp_path: Path) -> None:
    missed = {}
    for hack in HACKS:
        found = findings_of(tmp_path / hack, Plan(hacks=(hack,), bonus=0.1, prevalence=0.2))
        if not any(names(one, hack) for one in found.findings[:3]):
            missed[hack] = [one.text for one in found.findings]
        shutil.rmtree(tmp_path / hack)
    assert len(missed) <= 0.2 * len(HACKS), missed


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("name", [*NOTHING, "honest"])
def test_no_suspect_in_50_runs_of_20_000_samples_without_a_hack(tmp_path: Path, name: str, seed: int) -> None:
    plan = {**NOTHING, "honest": Plan(honest=True)}[name]
    for found in with_and_without_behaviours(tmp_path, plan._replace(seed=seed)):
        assert [one.text for one in found.findings if one.kind in ("suspect", "unverified")] == []
        paid = [one.text for one in found.findings if one.kind in ("earned", "watch")]
        assert len(paid) <= (name == "honest"), paid
