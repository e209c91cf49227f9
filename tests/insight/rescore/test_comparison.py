"""Old reward against new score, added up group by group."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from rolloupe.insight.rescore import Comparison, Graded, Verdict
from rolloupe.insight.rescore.run import grader_share, signs
from rolloupe.query import SampleItem
from tests.thoroughness import each


def sample(step: int, old: float | None, new: float | None) -> Graded:
    """A sample with its reward and its score."""
    item = SampleItem(
        id="", split="train", step=step, group="", index="", uid="", reward=old, advantage=None, status="", turns=1,
        prompt_tokens=None, response_tokens=None, total_tokens=None, response_chars=0, env="", discarded="", prompt="",
        response="", response_end="", values=[],
    )  # fmt: skip
    return Graded(item, "", Verdict(score=new) if new is not None else Verdict(failed="timeout"))


def group(step: int, old: Sequence[float | None], new: Sequence[float | None]) -> list[Graded]:
    return [sample(step, *pair) for pair in zip(old, new, strict=True)]


def test_the_numbers_are_those_of_all_samples_at_once() -> None:
    draw = np.random.default_rng(5)
    old = draw.normal(0, 2, (40, 8)).round(1) + np.arange(40)[:, None] / 10
    new = np.where(draw.random((40, 8)) < 0.5, old, draw.normal(0, 2, (40, 8)))
    new[3] = 1.0
    found = Comparison(range(20))
    for number in range(40):
        found.add(group(number // 2, old[number].tolist(), new[number].tolist()))
    change = found.change()
    centred = [np.sign(one - one.mean(axis=1, keepdims=True)) for one in (old, new)]
    centred[1][3] = 0
    assert (change.samples, change.groups, change.dead_before, change.dead_after) == (320, 40, 0, 1)
    assert change.equal == pytest.approx((old == new).mean())
    assert change.correlation == pytest.approx(np.corrcoef(old.ravel(), new.ravel())[0, 1])
    assert change.sign_changes == pytest.approx((centred[0] != centred[1]).mean())
    assert (change.first_steps, change.last_steps) == ((0, 1), (18, 19))
    means = change.old_first, change.old_last, change.new_first, change.new_last
    assert means == pytest.approx((old[:4].mean(), old[36:].mean(), new[:4].mean(), new[36:].mean()))
    gains = old[36:].mean() - old[:4].mean(), new[36:].mean() - new[:4].mean()
    assert change.grader_share == pytest.approx(1 - gains[1] / gains[0])


def test_samples_without_a_finite_reward_or_a_score_do_not_count() -> None:
    found = Comparison([0, 1])
    found.add(group(0, [1.0, None, math.nan, math.inf, 0.0], [1.0, 1.0, 1.0, 1.0, None]))
    change = found.change()
    assert (change.samples, change.groups, change.equal) == (1, 0, 1.0)
    assert (change.correlation, change.sign_changes, change.new_last, change.grader_share) == (None, None, None, None)


def test_sums_that_round_differently_are_equal() -> None:
    assert signs([0.1 + 0.2, 0.3, 0.3]) == [0, 0, 0]
    assert signs([1.0, 2.0, 3.0]) == [-1, 0, 1]
    found = Comparison([0])
    found.add(group(0, [0.1 + 0.2, 1.0], [0.3, 1.0]))
    assert found.change().equal == 1.0 and found.change().first_steps is None


@each(
    ("means", "share"),
    [
        ((0.8, 1.2, 0.8, 1.0), 0.5),
        ((0.8, 1.2, 0.8, 0.7), 1.25),
        ((1.2, 0.8, 0.8, 1.0), None),
        ((0.8, 0.8, 0.8, 1.0), None),
        ((None, 1.2, 0.8, 1.0), None),
    ],
)
def test_the_part_of_the_old_grader_needs_a_gain(means: tuple[float | None, ...], share: float | None) -> None:
    found = grader_share(*means)
    assert found is None if share is None else found == pytest.approx(share)
