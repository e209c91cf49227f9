"""Which features are chosen, and what becomes of the others."""

import numpy as np

from rolloupe.features import Floats, Grouping, sums_within
from rolloupe.insight.findings.selection import Evidence, choose, partial_z

GROUPS, SIZE = 400, 8


def evidence(columns: list[Floats], a: Floats, named: tuple[int, ...] = ()) -> Evidence:
    grouping = Grouping(np.repeat(np.arange(GROUPS), SIZE))
    x, own = grouping.centred(np.stack(columns, 1)), grouping.centred(a)
    sums = sums_within(x, own, own, grouping)
    return Evidence(sums.s, x.T @ x, sums.v, float(own @ own), np.isin(np.arange(len(columns)), named))


def coin(rng: np.random.Generator, share: float = 0.5) -> Floats:
    return (rng.random(GROUPS * SIZE) < share).astype(float)


def test_two_causes_are_chosen_and_their_echoes_are_not() -> None:
    rng = np.random.default_rng(0)
    one, other, noise = coin(rng), coin(rng, 0.2), rng.normal(0, 1, GROUPS * SIZE)
    echo = np.where(rng.random(GROUPS * SIZE) < 0.2, coin(rng), one)
    found = evidence([echo, one, coin(rng), other], 0.5 * one + 0.5 * other + noise)
    assert abs(found.z[0]) > 5 and choose(found, 5) == [1, 3]


def test_a_behaviour_wins_over_a_phrase_that_is_little_better() -> None:
    rng = np.random.default_rng(1)
    one = coin(rng)
    near = np.where(rng.random(GROUPS * SIZE) < 0.02, 1 - one, one)
    a = one + rng.normal(0, 1, GROUPS * SIZE)
    assert choose(evidence([one, near], a), 5) == [0] and choose(evidence([one, near], a, named=(1,)), 5) == [1]


def test_presence_is_an_echo_of_a_count() -> None:
    rng = np.random.default_rng(2)
    count = coin(rng) * rng.integers(1, 5, GROUPS * SIZE)
    a = np.minimum(count, 1) * 2.0 + rng.normal(0, 0.3, GROUPS * SIZE)
    assert choose(evidence([np.log2(1 + count), np.minimum(count, 1)], a, named=(0,)), 5) in ([0], [1])


def test_what_is_explained_by_others_is_dropped_at_the_end() -> None:
    rng = np.random.default_rng(3)
    one, other = coin(rng), coin(rng)
    both = one + other
    a = 0.4 * one + 0.4 * other + rng.normal(0, 0.5, GROUPS * SIZE)
    found = evidence([both, one, other], a)
    chosen = choose(found, 5)
    assert len(chosen) <= 2 and np.all(np.abs(partial_z(found, chosen)) >= 5)


def test_a_word_that_two_phrases_share_is_split_into_the_phrases() -> None:
    rng = np.random.default_rng(5)
    one, other = coin(rng, 0.3), coin(rng, 0.3)
    shared = np.log2(1 + one + other)
    found = evidence([shared, one, other, coin(rng)], 0.5 * one + 0.5 * other + rng.normal(0, 1, GROUPS * SIZE))
    assert found.z[0] > max(found.z[1:]) and sorted(choose(found, 5)) == [1, 2]
    alone = evidence([one, np.where(coin(rng, 0.3) > 0, coin(rng), one)], 0.5 * one + rng.normal(0, 1, GROUPS * SIZE))
    assert choose(alone, 5) == [0]


def test_a_behaviour_is_not_split_into_wordings_that_say_a_part_of_it() -> None:
    rng = np.random.default_rng(6)
    doubts = [coin(rng, 0.3) for _ in range(2)]
    amount = doubts[0] + doubts[1]
    paid = 0.5 * (doubts[0] + doubts[1]) + rng.normal(0, 1, GROUPS * SIZE)
    assert sorted(choose(evidence([amount, *doubts], paid), 5)) == [1, 2]
    assert choose(evidence([amount, *doubts], paid, named=(0,)), 5) == [0]
    noisy = amount + rng.normal(0, 0.3, GROUPS * SIZE)
    found = evidence([noisy, *doubts], paid, named=(0,))
    assert sorted(choose(found, 5)) == [1, 2], "two that explain more than the behaviour"


def test_nothing_is_chosen_of_nothing() -> None:
    rng = np.random.default_rng(4)
    a = rng.normal(0, 1, GROUPS * SIZE)
    assert choose(evidence([coin(rng) for _ in range(50)], a), 5) == []
    assert choose(evidence([np.zeros(GROUPS * SIZE)], a), 5) == []
