"""Where the gradient came from."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import rolloupe
from rolloupe.errors import BadQuery, NotFound
from rolloupe.insight.gradient import GradientShare
from rolloupe.query.filter.parser import conditions
from tests.index.support import lines, row

DEMO = Path(rolloupe.__file__).parent / "demo" / "runs"


def run_of(folder: Path, steps: Sequence[list[dict[str, Any]]], split: str = "train") -> rolloupe.Run:
    """A run with these rows at its steps."""
    place = folder / "run/rollout_result" / split
    place.mkdir(parents=True)
    for step, rows in enumerate(steps):
        (place / f"{step}.jsonl").write_bytes(lines([{**one, "rollout_id": step} for one in rows]))
    return rolloupe.open(folder / "run", index_dir=folder / "index").runs[0]


def rows_of(rewards: Sequence[float], right: Sequence[int] | None = None, **more: Any) -> list[dict[str, Any]]:
    """Samples in groups of four."""
    if right is None:
        return [row(0, i, reward=one, **more) for i, one in enumerate(rewards)]
    pairs = enumerate(zip(rewards, right, strict=True))
    return [row(0, i, reward={"score": one, "acc": float(is_right)}, **more) for i, (one, is_right) in pairs]


def listed(run: rolloupe.Run, one: GradientShare) -> int:
    """How many samples the filter of a share lists."""
    return run.total(
        rolloupe.SampleQuery(splits=("train",), where=conditions(one.where), typed=one.where, trained=True)
    )


def test_shaping_parts_make_a_fifth_of_the_normed_gradient_of_the_demo_run(demo_index: Path) -> None:
    run = rolloupe.open(DEMO / "tiny_grpo", index_dir=demo_index).runs[0]
    found = run.gradient()
    assert (found.samples, found.groups, found.dead, round(found.effective)) == (14096, 1799, 3, 1271)
    assert found.correct == "correct" and sum(one.groups for one in found.by_step) == 1799
    assert [one.step for one in found.by_step if one.dead] == [24, 73, 88] and len(found.dead_samples) == 3
    assert found.shaping is not None and (found.shaping.groups, found.all_right + found.all_wrong) == (349, 349)
    assert found.shaping.on_rewards == pytest.approx(0.006, abs=0.001)
    assert found.shaping.on_std == pytest.approx(0.198, abs=0.001) == found.shaping.recorded
    assert len(found.shaping_samples) == 3 and found.prompts is not None and found.prompts.once == 1799
    for cut in (found.by_env, found.by_length, found.by_outcome):
        assert sum(one.on_rewards for one in cut) == pytest.approx(1) == sum(one.on_std for one in cut)
        assert [listed(run, one) for one in cut] == [one.samples for one in cut] and len(cut) > 1
        assert sum(one.samples for one in cut) == found.samples
    assert [one.name for one in found.by_outcome] == ["truncated", "right", "not right"]


def test_rewards_too_large_to_add_up_pull_nothing(tmp_path: Path) -> None:
    usual = [0.0, 1.0, 2.0, 3.0]
    run = run_of(tmp_path, [rows_of([*usual, 1e308, -1e308, float("inf"), 1.0, *usual])])
    found = run.gradient()
    assert found.samples == 9 and found.effective == pytest.approx(2)
    assert sum(one.on_rewards for one in found.by_length) == pytest.approx(1)


@pytest.mark.parametrize("scale", [1e-30, 1e-7, 1.0, 1e9])
def test_the_scale_of_rewards_does_not_matter(scale: float, tmp_path: Path) -> None:
    rewards = [0.0, 1.0, 2.0, 3.0, *[1.0] * 4, 1.0, 1.0, 1.0, 1.0 + 1e-9]
    found = run_of(tmp_path, [rows_of([one * scale for one in rewards])]).gradient()
    assert (found.groups, found.dead, found.effective) == (3, 2, 1)


def test_a_sample_pulls_by_the_square_of_its_advantage(tmp_path: Path) -> None:
    wide, narrow = [0.0, 0.0, 2.0, 2.0], [0.5, 0.5, 0.7, 0.7]
    run = run_of(tmp_path, [rows_of([*wide, *narrow, 1.0, 1.0, 1.0, 1.0], [0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1])])
    found = run.gradient()
    assert (found.groups, found.dead, found.all_right, found.all_wrong) == (3, 1, 2, 0)
    assert [(one.step, one.groups, one.dead) for one in found.by_step] == [(0, 3, 1)]
    assert found.shaping is not None and (found.shaping.groups, found.shaping.samples) == (1, 4)
    assert found.shaping.on_rewards == pytest.approx(0.04 / 4.04) and found.shaping.on_std == pytest.approx(0.5)
    assert found.shaping.recorded is None and found.effective == pytest.approx(4.04**2 / (16 + 0.0016))
    assert found.dead_samples == ["train/0/2/8"] and found.shaping_samples == ["train/0/1/4"]


def test_without_correctness_nothing_differs_by_shaping_parts(tmp_path: Path) -> None:
    found = run_of(tmp_path, [rows_of([0.0, 1.0, 0.0, 1.0])] * 3).gradient(steps=(1, None))
    assert (found.groups, found.samples, found.shaping, found.correct, found.effective) == (2, 8, None, "", 2.0)
    assert found.by_outcome == [] == found.by_env  # of one part there is nothing to say


def test_groups_without_a_metric_of_correctness_are_neither_right_nor_wrong(tmp_path: Path) -> None:
    rows = rows_of([0.0, 1.0, 2.0, 3.0] * 4, [0, 0, 0, 0, 1, 1, 1, 1, 0, 1, 0, 0, 0, 0, 0, 0])
    for number in range(8, 12):
        del rows[number]["reward"]["acc"]
    rows[12]["reward"]["acc"] = float("nan")
    run = run_of(tmp_path, [rows])
    found = run.gradient()
    assert (found.all_right, found.all_wrong) == (1, 1)
    assert found.shaping is not None and found.shaping.on_std == pytest.approx(0.5)
    assert [(one.name, one.samples) for one in found.by_outcome] == [("right", 4), ("not right", 7), ("unknown", 5)]
    assert [listed(run, one) for one in found.by_outcome] == [4, 7, 5]


def test_the_trainers_advantages_count_where_all_samples_have_one(tmp_path: Path) -> None:
    rows = [row(0, i, reward=float(i % 2), advantage=2.0 if i < 4 else 1.0, response_length=9 + i) for i in range(8)]
    found = run_of(tmp_path, [rows]).gradient()
    assert [one.recorded for one in found.by_length] == pytest.approx([0.4, 0.4, 0.1, 0.1])
    assert [one.on_rewards for one in found.by_length] == pytest.approx([0.25] * 4)
    assert found.by_length[0].name == "9 to 10 tokens"
    part = run_of(tmp_path / "part", [[{**one, "advantage": None} if n == 3 else one for n, one in enumerate(rows)]])
    assert [one.recorded for one in part.gradient().by_length] == [None] * 4


def test_prompts_are_counted_by_how_they_fared_over_the_steps(tmp_path: Path) -> None:
    right = [[1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0], [1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0]]
    found = run_of(tmp_path, [rows_of([float(n) for n in range(12)], one) for one in right]).gradient()
    fared = found.prompts
    assert fared is not None and (fared.metric, fared.once) == ("reward.acc", 0)
    assert (fared.always, fared.lost, fared.never, fared.solved) == (1, 1, 1, 0)


def test_a_run_without_training_has_no_gradient(tmp_path: Path) -> None:
    run = run_of(tmp_path, [rows_of([0.0, 1.0])], "eval")
    for correct in ("", "none"):
        with pytest.raises(NotFound, match=r"the run has evaluations only \(eval/default\), so it has no gradient"):
            run.gradient(correct=correct)
    run = run_of(tmp_path / "trained", [rows_of([0.0, 1.0])])
    with pytest.raises(NotFound):
        run.gradient(env="elsewhere")
    with pytest.raises(NotFound):
        run.gradient(steps=(500, 600))
    with pytest.raises(BadQuery):
        run.gradient(correct="none")
