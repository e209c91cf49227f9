"""Which samples of a large run are looked at."""

import pyarrow as pa
import pytest

from rolloupe.index import features
from rolloupe.index.features import KEPT_CHARS, KEPT_SAMPLES, SCANNED_CHARS, blocks_of, count_of, order_of, share_of
from rolloupe.index.segments.kind import ScanShare
from rolloupe.index.segments.step_stats import NO_MOMENTS, StepStats, by_name, moments_of


def stats_of(rows: int, chars: float) -> StepStats:
    return StepStats("train", 0, rows, 1, by_name({"response_chars": moments_of([chars] * rows)}), NO_MOMENTS)


def test_the_share_halves_as_a_run_doubles() -> None:
    assert share_of([]) == share_of([stats_of(100, 500.0)]) == ScanShare()
    assert share_of([stats_of(1000, 500.0)] * (KEPT_SAMPLES // 500)) == ScanShare(0, 1)
    assert share_of([stats_of(1000, 1.2e-3 * SCANNED_CHARS)]) == ScanShare(1, 2)


def test_groups_are_taken_in_an_order_of_their_own_and_as_many_as_the_share_says() -> None:
    names = [f"g{number}" for number in range(40)]
    order, _ = order_of(names, "train/3/")
    assert sorted(order) == list(range(40)) and order != list(range(40))
    again, _ = order_of([names[number] for number in reversed(range(40))], "train/3/")
    assert [39 - number for number in again] == order, "whatever their order in the file"
    taken = [count_of(2, 5, order_of(names[:5], f"train/{step}/")[1]) for step in range(400)]
    assert {*taken} == {1, 2} and 450 < sum(taken) < 550 and count_of(0, 5, 0.9) == 5


def table(rows: int, **columns: object) -> pa.Table:
    usual = {
        "split": ["train"] * rows, "step": [1] * rows, "launch": [0] * rows, "env": [None] * rows,
        "grp": [str(row // 4) for row in range(rows)], "idx": [str(row) for row in range(rows)],
        "response_chars": [9] * rows, "reward": [float(row) for row in range(rows)],
        "advantage": [None] * rows,
    }  # fmt: skip
    types = {"env": pa.string(), "reward": pa.float64(), "advantage": pa.float64()}
    return pa.table({name: pa.array(one, types.get(name)) for name, one in {**usual, **columns}.items()})


def test_blocks_hold_whole_groups_of_samples_with_rewards() -> None:
    rewards = [1.0, float("nan"), float("inf"), 1e20, *[2.0] * 8]
    (plan,) = blocks_of(table(12, reward=rewards), ScanShare())
    one = plan.block()
    assert one.rows.tolist() == [0, *range(4, 12)] and one.grouping.sizes.tolist() == [1, 4, 4] and one.kept.all()
    assert one.of.env == "" and one.advantages.tolist() == one.rewards.tolist()


def test_a_sample_that_is_there_twice_counts_once() -> None:
    index, chars, rewards = ["a", "b", "a", "a", "a", "b"], [9, 9, 9, 8, 9, 9], [1.0, 2.0, 1.0, 1.0, 3.0, 2.0]
    (plan,) = blocks_of(table(6, grp=["0"] * 6, idx=index, response_chars=chars, reward=rewards), ScanShare())
    one = plan.block()
    assert one.rows.tolist() == [0, 1, 3, 4]


def test_advantages_count_where_each_sample_has_one() -> None:
    (plan,) = blocks_of(table(8, advantage=[1.0, 2.0, 3.0, 4.0] * 2), ScanShare())
    one = plan.block()
    assert one.advantages.tolist() == [-1.5, -0.5, 0.5, 1.5] * 2 and one.rewards.tolist() == one.advantages.tolist()
    (plan,) = blocks_of(table(8, advantage=[9.0, None, 8.0, 7.0, 2.0, 4.0, 6.0, 8.0]), ScanShare())
    one = plan.block()
    assert one.advantages.tolist() == [-1.5, -0.5, 0.5, 1.5, -3.0, -1.0, 1.0, 3.0], "of other groups, the rewards"


def test_differences_too_small_for_the_stored_sums_are_none() -> None:
    (plan,) = blocks_of(table(8, reward=[1e-30, 3e-30, 2e-30, 1e-30, 1e-9, 2e-9, 3e-9, 4e-9]), ScanShare())
    one = plan.block()
    assert not one.rewards[:4].any() and one.rewards[4:].all() and not one.advantages[:4].any()


def test_a_huge_step_has_several_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(features, "BLOCK_SAMPLES", 8)
    sizes = [len(one.rows) for one in blocks_of(table(20), ScanShare())]
    assert sizes == [8, 8, 4]
    assert [len(one.rows) for one in blocks_of(table(20, grp=["a"] * 20), ScanShare())] == [8]
    some = [plan.block() for plan in blocks_of(table(80), ScanShare(1, 2))]
    assert 32 <= sum(len(one.rows) for one in some) <= 48 and 16 <= sum(one.kept.sum() for one in some) <= 24
    assert SCANNED_CHARS > KEPT_CHARS
