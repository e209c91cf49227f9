"""Each rule on curves that ring it and on curves that do not, and all of them on quiet runs."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from rolloupe.insight import RULES, History, check
from rolloupe.insight.rules.eval_down import _trend
from rolloupe.insight.spikes import spikes
from rolloupe.tokens import Floats
from tests.thoroughness import amount

STEPS = np.arange(60)
RANDOM = np.random.default_rng(7)


class Curves:
    """Curves given by kind and name: `token entropy`, `eval math`, ..."""

    def __init__(self, **values: Any) -> None:
        self.histories = {name: History(np.arange(len(one)), np.asarray(one, float)) for name, one in values.items()}

    def curve(self, kind: str, name: str, stat: str = "", source: str = "") -> History | None:
        return self.histories.get(f"{kind} {name or source}")

    def names(self, kind: str) -> list[str]:
        return [name.removeprefix(f"{kind} ") for name in self.histories if name.startswith(f"{kind} ")]


def noise(size: float = 0.05, count: int = 60) -> Floats:
    return 1 + size * RANDOM.standard_normal(count)


def raised(rule: str, curves: dict[str, Any]) -> list[tuple[str, int, int]]:
    alarms = RULES[rule].look(Curves(**curves))
    return [(one.title, one.first_step, one.last_step) for one in alarms]


def with_values(base: Any, **at: float) -> Floats:
    values: Floats = np.array(base, dtype=float)
    for place, value in at.items():
        values[int(place[1:])] = value
    return values


FLAT = np.zeros(60)
UP = STEPS / 60
RINGS: dict[str, tuple[dict[str, Any], str, int, int]] = {
    "entropy_collapse": ({"token entropy": 2 * np.exp(-STEPS / 10)}, "Entropy fell", 22, 59),
    "kl_spike": ({"trainer optim/kl": with_values(0.01 * noise(), _30=0.2, _31=0.15)}, "KL spikes at steps", 30, 31),
    "grad_norm_spike": ({"trainer actor/grad_norm": with_values(noise(), _30=40)}, "The gradient norm", 30, 30),
    "reward_collapse": (
        {"sample reward": np.where(STEPS < 40, 0.3 + 0.6 * UP, 0.05)}, "Reward fell from 0.635 to 0.05", 40, 59,
    ),
    "ratio_spike": ({"token importance_ratio": with_values(2 * noise(), _40=90)}, "The largest ratio spikes", 40, 40),
    "mismatch_spike": ({"token mismatch_kl": with_values(0.001 * noise(), _25=0.5)}, "Mismatch KL", 25, 25),
    "eval_down": (
        {"sample reward": UP, "eval math": 0.5 - np.maximum(0, STEPS - 30) / 100}, "Reward up, math down", 30, 59,
    ),
    "length_explosion": (
        {"sample response_tokens": 500 + 20 * STEPS, "sample reward": FLAT}, "Responses are 2.6 times", 48, 59,
    ),
    "wrong_longer": (
        {
            "outcome length_right": 300 * noise(), "outcome length_wrong": 600 * noise(), "outcome right": FLAT + 20,
            "outcome wrong": FLAT + 20,
        },
        "Wrong answers are", 50, 59,
    ),
    "no_spread": (
        {"group without_spread": UP, "group all_best": STEPS / 90, "group all_worst": STEPS / 180},
        "91% of the groups have no spread", 50, 59,
    ),
    "repeated_text": ({"sample derived.repeated_4grams": 0.05 + STEPS / 200}, "Repeated 4-grams rise to 32%", 48, 59),
    "unclosed_think": ({"sample derived.unclosed_think": STEPS / 300}, "Unclosed thoughts rise to 18%", 48, 59),
    "not_finite": (
        {"trainer optim/loss": with_values(noise(), _12=np.nan, _50=np.inf), "trainer a": noise()},
        "NaN or infinite at 2 steps, first at 12", 12, 50,
    ),
    "lost_samples": ({"samples ": with_values(FLAT + 64, _20=17)}, "Step 20 has 17 samples", 20, 20),
}  # fmt: skip

QUIET: dict[str, list[dict[str, Any]]] = {
    "entropy_collapse": [{"token entropy": 2 - UP}, {"token entropy": [1.0, 0.0]}, {"token entropy": FLAT}],
    "kl_spike": [
        {"trainer optim/kl": 0.001 * STEPS}, {"trainer kl_weight": with_values(noise(), _30=9)}, {"trainer kl": [1, 9]},
    ],
    "grad_norm_spike": [{"trainer grad_norm": with_values(noise(), _30=8)}, {"trainer grad_norm_clip": [1, 99]}],
    "reward_collapse": [
        {"sample reward": 0.5 * noise(0.2)}, {"sample reward": FLAT}, {"sample reward": [1.0] * 9 + [0.0] * 9},
        {"sample reward": UP}, {"sample reward": 0.8 - 0.2 * UP},
    ],
    "ratio_spike": [{"token importance_ratio": 1 + 0.001 * STEPS}],
    "mismatch_spike": [{"token mismatch_kl": FLAT}, {"token mismatch_kl": np.full(60, np.nan)}],
    "eval_down": [
        {"sample reward": UP, "eval math": 0.5 * noise(0.1)}, {"sample reward": UP, "eval math": [1, 0, 0]},
        {"sample reward": FLAT, "eval math": 0.5 - STEPS / 200},
    ],
    "length_explosion": [
        {"sample response_tokens": 500 + 20 * STEPS, "sample reward": UP}, {"sample response_tokens": FLAT},
    ],
    "wrong_longer": [
        {"outcome length_right": FLAT + 300, "outcome length_wrong": FLAT + wrong, "outcome right": FLAT + 9,
         "outcome wrong": FLAT + count}
        for wrong, count in ((360, 9), (900, 1))
    ],
    "no_spread": [{"group without_spread": 0.3 * noise()}, {"group without_spread": [1.0] * 3}],
    "repeated_text": [{"sample derived.repeated_4grams": 0.1 * noise()}],
    "unclosed_think": [{"sample derived.unclosed_think": 0.02 * noise()}],
    "not_finite": [{"trainer never": np.full(60, np.nan), "trainer loss": noise()}],
    "lost_samples": [
        {"samples ": with_values(FLAT + 64, _59=3)}, {"samples ": 64 * RANDOM.random(60)}, {"samples ": [64, 1, 64]},
    ],
}  # fmt: skip


def test_every_rule_is_rung_here() -> None:
    assert set(RINGS) == set(QUIET) == set(RULES)


@pytest.mark.parametrize("rule", RINGS)
def test_a_rule_rings_where_it_must_and_says_where(rule: str) -> None:
    curves, title, first, last = RINGS[rule]
    ((found, from_step, to_step),) = raised(rule, curves)
    assert found.startswith(title) and (from_step, to_step) == (first, last)
    assert "{" not in RULES[rule].words and RULES[rule].words


@pytest.mark.parametrize("rule", QUIET)
def test_it_does_not_ring_elsewhere_nor_without_curves(rule: str) -> None:
    for curves in [*QUIET[rule], {}]:
        assert raised(rule, curves) == []


MORE_RINGS: list[tuple[str, dict[str, Any], list[tuple[str, int, int]]]] = [
    (
        "not_finite", {"trainer loss": np.where(STEPS < 24, 1.0, np.nan)},
        [("NaN or infinite at 36 steps, first at 24", 24, 59)],
    ),
    ("not_finite", {"trainer once": np.where(STEPS < 1, 1.0, np.nan), "trainer few": [1, 1] + [np.nan] * 7 + [1]}, []),
    (
        "kl_spike", {"trainer actor/kl": FLAT + 0.01, "trainer ref/kl": with_values(FLAT + 0.01, _30=9)},
        [("KL spikes at step 30", 30, 30)],
    ),
    (
        "kl_spike", {name: with_values(FLAT + 0.01, _30=9) for name in ("token kl", "trainer kl", "trainer ref/kl")},
        [("KL spikes at step 30", 30, 30)],
    ),
    (
        "wrong_longer",
        {  # there was no wrong answer of late
            "outcome length_right": FLAT + 300, "outcome length_wrong": np.full(30, 900.0), "outcome right": FLAT + 20,
            "outcome wrong": FLAT + 20,
        },
        [],
    ),
    ("lost_samples", {"samples ": with_values(FLAT + 64, _0=17)}, [("Step 0 has 17 samples", 0, 0)]),
    (
        "entropy_collapse", {"token entropy": with_values(np.where(STEPS < 40, 2.0, 0.1), _3=0.1)},
        [("Entropy fell to 0.1", 40, 59)],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "curves", "expected"), MORE_RINGS)
def test_what_is_seen_only_by_a_closer_look(rule: str, curves: dict[str, Any], expected: list[Any]) -> None:
    assert raised(rule, curves) == expected


def test_a_trend_is_spearmans_rank_correlation() -> None:
    values = pd.Series([0.0, 0, 0, 0, 1, 1, 3, 2])
    trend = _trend(History(np.arange(8), values.to_numpy()))
    assert trend == pytest.approx(values.rank().corr(pd.Series(range(8))))


def test_groups_without_spread_are_those_without_an_advantage() -> None:
    curves = RINGS["no_spread"][0]
    for more, where in (({}, ""), ({"sample advantage": FLAT}, "advantage = 0")):
        (alarm,) = RULES["no_spread"].look(Curves(**curves, **more))
        assert alarm.where == where


def test_a_new_level_is_one_alarm_and_later_spikes_stand_out_from_it() -> None:
    values = np.concatenate([np.full(20, 1.0), np.full(80, 10.0), [100.0], np.full(5, 10.0)])
    found = spikes(History(np.arange(len(values)), values), 4, 8)
    assert [(int(one.points.steps[0]), one.usual) for one in found] == [(20, 1.0), (100, 10.0)]


def quiet(seed: int) -> Curves:
    """A run on which nothing goes wrong: trends, a resume, missing metrics, noise of several kinds."""
    random = np.random.default_rng(seed)
    count = int(random.choice([30, 80, 300, 1000, 5000]))
    at = np.linspace(0, 1, count)

    def around(level: Floats | float, size: float) -> Floats:
        """Values whose noise is log-normal, or has heavy tails."""
        if random.random() < 0.5:
            return np.asarray(level * np.exp(size * random.standard_normal(count)), dtype=float)
        return np.asarray(level * np.abs(1 + size * random.standard_t(5, count)), dtype=float)

    curves: dict[str, Any] = {
        "token entropy": around(2 - 1.2 * at * random.random(), 0.05),
        "token kl": around(0.001 + 0.02 * at, 0.2),
        "token importance_ratio": around(2 + at, 0.25),
        "token mismatch_kl": around(0.001, 0.3),
        "sample reward": random.random() * (0.2 + 0.6 * at) + 0.05 * random.standard_normal(count),
        "sample response_tokens": around(500 * (1 + 0.8 * at * random.random()), 0.1),
        "sample derived.repeated_4grams": np.clip(0.05 + 0.03 * random.standard_normal(count), 0, 1),
        "sample derived.unclosed_think": np.clip(0.02 + 0.02 * random.standard_normal(count), 0, 1),
        "outcome length_right": around(500.0, 0.1), "outcome length_wrong": around(550.0, 0.1),
        "outcome right": np.full(count, 40.0), "outcome wrong": np.full(count, 24.0),
        "group without_spread": np.clip(0.25 + 0.15 * at + 0.08 * random.standard_normal(count), 0, 1),
        "samples ": np.full(count, 64.0) + random.integers(-2, 3, count),
        "trainer optim/loss": random.standard_normal(count), "trainer never": np.full(count, np.nan),
        "trainer grad_norm": around(1.0, 0.5),
        "eval math": (0.4 + 0.2 * at + 0.03 * random.standard_normal(count))[:: max(1, count // 30)],
    }  # fmt: skip
    return Curves(**{name: one for name, one in curves.items() if random.random() < 0.8})


def test_quiet_runs_hardly_ever_ring() -> None:
    runs = amount(40, 200)
    rung = [(seed, one.rule.name, one.alarm.title) for seed in range(runs) for one in check(quiet(seed))]
    assert len({seed for seed, *_ in rung}) <= runs / 20, rung


def test_rules_can_be_left_out_and_errors_come_first() -> None:
    curves = Curves(**RINGS["not_finite"][0], **RINGS["entropy_collapse"][0])
    assert [one.rule.name for one in check(curves)] == ["not_finite", "entropy_collapse"]
    assert [one.rule.name for one in check(curves, ["not_finite"])] == ["entropy_collapse"]
