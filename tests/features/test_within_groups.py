"""The statistic of findings, against its definition."""

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolloupe import features
from rolloupe.features import MIN_SAMPLES, TINY, Grouping, feature_rows, phrases_of, sums_within, words_of

numbers = st.integers(-3, 3).map(float)
groups = st.lists(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=4), min_size=1, max_size=3)


def grouping_of(sizes: list[int]) -> Grouping:
    return Grouping(np.repeat(np.arange(len(sizes)), sizes))


@given(groups)
def test_v_is_the_variance_of_s_over_all_permutations_within_groups(some: list[list[tuple[float, float]]]) -> None:
    grouping = grouping_of([len(one) for one in some])
    x, a = (np.array([pair[at] for one in some for pair in one]) for at in (0, 1))
    centred = grouping.centred(a)
    found = sums_within(grouping.centred(x)[:, None], centred, centred, grouping)
    bounds = list(zip(grouping.starts.tolist(), grouping.sizes.tolist(), strict=True))
    every = product(*(permutations(centred[start : start + size]) for start, size in bounds))
    dealt = np.array([float(x @ np.concatenate(one)) for one in every])
    assert np.isclose(found.v[0], np.var(dealt), atol=1e-9) and np.isclose(np.mean(dealt), 0, atol=1e-9)
    assert np.isclose(found.s[0], sum(p * q for p, q in zip(x, centred, strict=True)), atol=1e-9)


def test_difficulty_of_prompts_cancels() -> None:
    rng = np.random.default_rng(0)
    grouping = grouping_of([8] * 50)
    easy = np.repeat(rng.normal(0, 9, 50), 8)
    x = (rng.random(400) < np.repeat(rng.random(50), 8)).astype(float)
    noise = rng.normal(0, 1, 400)
    plain, shifted = (
        sums_within(grouping.centred(x + more)[:, None], grouping.centred(a), grouping.centred(a), grouping)
        for a, more in ((noise + 0.5 * x, 0), (noise + 0.5 * x + easy, np.repeat(rng.random(50), 8)))
    )
    (z, effect), (shifted_z, shifted_effect) = ((of.s / np.sqrt(of.v), of.r / of.d) for of in (plain, shifted))
    assert np.isclose(z, shifted_z) and np.isclose(effect, shifted_effect) and 3 < z[0] < 9


def test_groups_of_one_and_groups_without_spread_show_nothing() -> None:
    grouping = grouping_of([1, 1, 3])
    rewards = grouping.centred(np.array([1.0, 0, 0.3, 0.3, 0.3]))
    found = sums_within(grouping.centred(np.arange(5.0))[:, None], rewards, rewards, grouping)
    assert found.v[0] == 0 and found.groups[0] == 0 and found.d[0] == 2


@pytest.mark.parametrize("most", [20, 10**9])
@pytest.mark.parametrize("seed", range(6))
def test_the_phrases_that_vary_most_are_kept_with_the_sums_of_their_definition(
    seed: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(features, "MAX_ROWS", most)
    rng = np.random.default_rng(seed)
    grouping = grouping_of([4] * 6)
    samples = np.repeat(np.arange(24), rng.integers(0, 30, 24))
    words = words_of(np.frombuffer(b"a b c d e f", np.uint8), np.array([0, 11])).hashes[
        rng.integers(0, 6, len(samples))
    ]
    a, r = grouping.centred(rng.normal(size=24)), grouping.centred(rng.normal(size=24))
    counts: dict[int, np.ndarray] = {}
    for _, hashes, first in phrases_of(words, samples):
        for name, sample in zip(hashes.tolist(), samples[first].tolist(), strict=True):
            counts.setdefault(name, np.zeros(24))[sample] += 1
    frequent = {name: grouping.centred(np.log2(1 + of)) for name, of in counts.items() if (of > 0).sum() >= MIN_SAMPLES}
    sums = {name: sums_within(x[:, None], a, r, grouping) for name, x in frequent.items()}
    varying = sorted((name for name in sums if sums[name].d[0] > TINY), key=lambda name: (-sums[name].d[0], name))
    rows = feature_rows(words, samples, a, r, grouping)
    assert rows.hashes.tolist() == sorted(varying[:most]) and (most < 100) == (len(varying) > len(rows.hashes))
    for place, name in enumerate(rows.hashes.tolist()):
        expected = [sums[name].groups, sums[name].s, sums[name].r, sums[name].v, sums[name].d]
        assert np.allclose([column[place] for column in rows[2:]], np.ravel(expected), atol=1e-9)
        assert rows.samples[place] == (counts[name] > 0).sum()


def radar(texts: list[str], rewards: np.ndarray, sizes: list[int]) -> dict[int, tuple[float, ...]]:
    encoded = [one.encode() for one in texts]
    words = words_of(np.frombuffer(b"".join(encoded), np.uint8), np.cumsum([0, *map(len, encoded)]))
    grouping = grouping_of(sizes)
    a = grouping.centred(rewards)
    rows = feature_rows(words.hashes, words.texts, a, 2 * a, grouping)
    return {int(one[0]): tuple(float(value) for value in one[1:]) for one in zip(*rows, strict=True)}


def test_the_radar_sums_what_counting_one_by_one_would() -> None:
    rng = np.random.default_rng(1)
    words = ["a", "b", "c", "check", "12", "."]
    texts: list[str] = [" ".join(rng.choice(words, rng.integers(0, 12))) for _ in range(24)]
    rewards, sizes = rng.random(24), [8, 8, 1, 7]
    found = radar(texts, rewards, sizes)
    grouping = grouping_of(sizes)
    a = grouping.centred(rewards)
    for phrase in ("check", "a b", "b check"):
        own = [one.split() for one in texts]
        size = len(phrase.split())
        counts = [sum(" ".join(one[i : i + size]) == phrase for i in range(len(one) - size + 1)) for one in own]
        x = np.log2(1 + np.array(counts))
        assert sum(count > 0 for count in counts) >= 3, "the radar looks at no rarer ones"
        sums = sums_within(grouping.centred(x)[:, None], a, 2 * a, grouping)
        expected = (sums.groups[0], sums.s[0], sums.r[0], sums.v[0], sums.d[0])
        assert any(np.allclose(row[1:], expected) for row in found.values()), phrase


def test_the_radar_keeps_the_phrases_that_vary_most_and_looks_at_no_reward_for_that() -> None:
    rng = np.random.default_rng(2)
    texts: list[str] = [" ".join(rng.choice(list("abcdefgh"), 6)) for _ in range(64)]
    one, other = (radar(texts, rng.random(64), [8] * 8) for _ in range(2))
    assert one.keys() == other.keys() and len(one) > 20 and radar([""] * 8, rng.random(8), [8]) == {}
