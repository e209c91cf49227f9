"""Where the gradient came from."""

from pathlib import Path

import pytest

import rolloupe
from rolloupe.errors import NotFound
from tests.index.support import lines, row

DEMO = Path(rolloupe.__file__).parent / "demo" / "runs"


def test_shaping_parts_make_a_fifth_of_the_normed_gradient_of_the_demo_run(tmp_path: Path) -> None:
    run = rolloupe.open(DEMO / "tiny_grpo", index_dir=tmp_path / "index").runs[0]
    found = run.gradient()
    assert (found.groups, found.dead, sum(found.dead_by_step.values())) == (1799, 3, 3)
    assert found.correct == "correct" and round(found.effective) == 1299
    assert found.shaping is not None and found.shaping.groups == 352
    assert found.shaping.on_rewards == pytest.approx(0.006, abs=0.001)
    assert found.shaping.on_std == pytest.approx(0.196, abs=0.001)
    assert sum(one.on_rewards for one in found.by_env) == pytest.approx(1) and len(found.by_env) > 1
    assert sum(one.groups for one in found.by_env) == 1799


def test_groups_of_equal_rewards_are_dead(tmp_path: Path) -> None:
    train = tmp_path / "run/rollout_result/train"
    train.mkdir(parents=True)
    for step in range(3):
        rows = [row(step, i, reward=1.0 if i < 4 and step == 2 else float(i % 2)) for i in range(8)]
        (train / f"{step}.jsonl").write_bytes(lines(rows))
    found = rolloupe.open(tmp_path / "run", index_dir=tmp_path / "index").runs[0].gradient()
    assert (found.groups, found.dead, found.dead_by_step, found.effective) == (6, 1, {2: 1}, 5.0)
    assert found.shaping is None and [one.on_rewards for one in found.by_env] == [1.0]


def test_a_run_without_training_has_no_gradient(tmp_path: Path) -> None:
    place = tmp_path / "run/rollout_result/eval"
    place.mkdir(parents=True)
    (place / "0.jsonl").write_bytes(lines([row(0, 0)]))
    with pytest.raises(NotFound):
        rolloupe.open(tmp_path / "run", index_dir=tmp_path / "index").runs[0].gradient()
