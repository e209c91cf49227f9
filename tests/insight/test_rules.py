"""Each rule on curves that ring it, and on curves that do not."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from rolloupe.insight import RULES, History, check
from rolloupe.insight.rules.spikes import spikes
from rolloupe.insight.rules.trends import rank_correlation
from rolloupe.tokens import Floats
from tests.insight.given_curves import Curves
from tests.thoroughness import each

STEPS = np.arange(60)
RANDOM = np.random.default_rng(7)


def noise(size: float = 0.05, count: int = 60) -> Floats:
    return 1 + size * RANDOM.standard_normal(count)


def raised(rule: str, curves: dict[str, Any]) -> list[tuple[str, int, int]]:
    alarms = [one.alarm for one in check(Curves(**curves), RULES.keys() - {rule}).raised]
    return [(one.title, one.first_step, one.last_step) for one in alarms]


def with_values(base: Any, **at: float) -> Floats:
    values: Floats = np.array(base, dtype=float)
    for place, value in at.items():
        values[int(place[1:])] = value
    return values


FLAT = np.zeros(60)
UP = STEPS / 60
SPREADING = {
    "empty_answers": ("response_chars", "Answers of 12 characters or fewer"),
    "repeated_text": ("derived.repeated_4grams", "Answers that repeat themselves"),
    "other_script": ("derived.non_latin", "Answers in a non-Latin script"),
    "refusals": ("derived.refusals", "Refusals"),
    "gave_up": ("derived.gave_up", "Answers that give up"),
    "tool_errors": ("derived.tool_errors", "Answers with failed tool calls"),
    "cut_at_limit": ("response_tokens", "Answers that stop at the largest length of the run, probably a limit,"),
    "other_turns": ("derived.other_turns", "Answers that continue with a turn of the user"),
    "grader_words": ("derived.grader_words", "Answers that address the grader"),
    "special_cases": ("derived.special_cases", "Code that hard-codes answers"),
    "tamper_words": ("derived.tamper_words", "Answers that edit or skip tests, or may trick them,"),
}
"""The rules about what spreads in the answers: the metric of each, and what its title begins with."""

RINGS: dict[str, tuple[dict[str, Any], str, int, int]] = {
    "entropy_collapse": ({"token entropy": 2 * np.exp(-STEPS / 10)}, "Entropy fell", 22, 59),
    "entropy_explosion": ({"token entropy": 0.5 * np.exp(STEPS / 20)}, "Entropy rose from 0.658 to 7.26", 48, 59),
    "kl_spike": (
        {"trainer optim/kl": with_values(0.01 * noise(), _30=0.2, _31=0.15)},
        "The trainer's KL spikes at steps", 30, 31,
    ),
    "grad_norm_spike": ({"trainer actor/grad_norm": with_values(noise(), _30=40)}, "The gradient norm", 30, 30),
    "reward_collapse": (
        {"sample reward": np.where(STEPS < 40, 0.3 + 0.6 * UP, 0.05), "sample reward std": FLAT + 0.4},
        "Reward fell from 0.635 to 0.05", 40, 59,
    ),
    "ratio_spike": (
        {"token importance_ratio max": with_values(2 * noise(), _40=90)}, "The largest ratio spikes", 40, 40,
    ),
    "mismatch_spike": ({"token mismatch_kl": with_values(0.001 * noise(), _25=0.5)}, "Token mismatch KL", 25, 25),
    "eval_down": (
        {"sample reward": UP, "eval math": 0.5 - np.maximum(0, STEPS - 30) / 100}, "Reward up, math down", 30, 59,
    ),
    "length_explosion": (
        {"sample response_tokens": 500 + 20 * STEPS, "sample reward": FLAT}, "Responses are 2.6 times", 48, 59,
    ),
    "no_spread": (
        {"group without_spread": UP, "group all_best": STEPS / 90, "group all_worst": STEPS / 180},
        "89% of the groups have equal rewards", 48, 59,
    ),
    "truncated_rise": (
        {"share truncated": 0.05 + STEPS / 200}, "Truncated answers rose from 8% to 32% of all answers", 48, 59,
    ),
    "kl_explosion": (
        {"trainer kl": 0.01 * np.exp(np.maximum(0, STEPS - 40) / 4)}, "The trainer's KL is", 48, 59,
    ),
    **{
        rule: (
            {"samples ": FLAT + 63, f"sample {metric}": FLAT + 99, f"sample {metric} max": FLAT + 512,
             f"matching {metric}": 3 + STEPS / 3},
            f"{noun} rose from 8% to 33% of all answers", 48, 59,
        )
        for rule, (metric, noun) in SPREADING.items()
    },
    "unclosed_think": (
        {"sample derived.unclosed_think": STEPS / 300}, "Unclosed thoughts rose from 2% to 18%", 48, 59,
    ),
    "other_language": (
        {"sample derived.other_language": STEPS / 60}, "Answers in another language than the question rose from 9% to",
        48, 59,
    ),
    "not_finite": (
        {"trainer optim/loss": with_values(noise(), _12=np.nan, _50=np.inf), "trainer a": noise()},
        "NaN or infinite at 2 steps, first at 12", 12, 50,
    ),
    "lost_samples": ({"samples ": with_values(FLAT + 64, _20=17)}, "Step 20 has 17 samples", 20, 20),
    "discarded_rise": (
        {"share discarded": np.where(STEPS < 40, 0.05, 0.6)}, "Discarded samples rise to 60%", 40, 59,
    ),
}  # fmt: skip

QUIET: dict[str, list[dict[str, Any]]] = {
    "entropy_collapse": [{"token entropy": 2 - UP}, {"token entropy": [1.0, 0.0]}, {"token entropy": FLAT}],
    "entropy_explosion": [{"token entropy": 1 + UP}, {"token entropy": 0.01 + UP / 4}, {"token entropy": FLAT}],
    "kl_spike": [
        {"trainer optim/kl": 0.001 * STEPS}, {"trainer kl": np.maximum(0, STEPS - 20) / 100},
        {"trainer kl_weight": with_values(noise(), _30=9)}, {"trainer kl": [1, 9]},
    ],
    "grad_norm_spike": [{"trainer grad_norm": with_values(noise(), _30=7)}, {"trainer grad_norm_clip": [1, 99]}],
    "reward_collapse": [
        {"sample reward": of, "sample reward std": [0.4] * len(of)}
        for of in (0.5 * noise(0.2), FLAT, [1.0] * 9 + [0.0] * 9, UP, 0.8 - 0.2 * UP)
    ],
    "ratio_spike": [
        {"token importance_ratio max": 1 + 0.001 * STEPS}, {"token importance_ratio": with_values(2 * noise(), _40=90)},
    ],
    "mismatch_spike": [{"token mismatch_kl": FLAT}, {"token mismatch_kl": np.full(60, np.nan)}],
    "eval_down": [
        {"sample reward": UP, "eval math": 0.5 * noise(0.1)}, {"sample reward": UP, "eval math": [1, 0, 0]},
        {"sample reward": FLAT, "eval math": 0.5 - STEPS / 200},
    ],
    "length_explosion": [
        {"sample response_tokens": 500 + 20 * STEPS, "sample reward": UP},
        {"sample response_tokens": 500 + 20 * STEPS}, {"sample response_tokens": FLAT},
    ],
    "no_spread": [{"group without_spread": 0.3 * noise()}, {"group without_spread": [1.0] * 3}],
    "truncated_rise": [{"share truncated": 0.1 * noise()}],
    "kl_explosion": [{"trainer kl": 0.01 * noise()}, {"trainer ppo_kl": noise() - 1}],
    **{
        rule: [{"samples ": FLAT + 63, f"sample {metric}": FLAT, f"matching {metric}": 10 + 3 * noise()}]
        for rule, (metric, _) in SPREADING.items()
    },
    "unclosed_think": [{"sample derived.unclosed_think": 0.02 * noise()}],
    "other_language": [{"sample derived.other_language": 0.2 * noise()}],
    "not_finite": [
        {"trainer never": np.full(60, np.nan), "trainer loss": noise()},
        {"trainer env/code/reward": np.where(STEPS % 7 > 1, 0.5, np.nan)},
    ],
    "lost_samples": [
        {"samples ": with_values(FLAT + 64, _59=3)}, {"samples ": np.where(STEPS % 12 == 11, 20, 64)},
        {"samples ": 64 * RANDOM.random(60)}, {"samples ": [64, 1, 64]},
    ],
    "discarded_rise": [
        {"share discarded": of}
        for of in (
            FLAT, FLAT + 0.5, 0.05 + 0.2 * UP, 0.2 + 0.2 * UP, np.where(STEPS < 40, 0.6, 0.05), [0.05] * 10 + [0.6] * 4,
            with_values(FLAT, _57=1, _58=1), np.random.default_rng(1).random(60),
        )
    ],
}  # fmt: skip


def test_every_rule_is_rung_here() -> None:
    assert set(RINGS) == set(QUIET) == set(RULES)


@each("rule", RINGS)
def test_a_rule_rings_where_it_must_and_says_where(rule: str) -> None:
    curves, title, first, last = RINGS[rule]
    ((found, from_step, to_step),) = raised(rule, curves)
    assert found.startswith(title) and (from_step, to_step) == (first, last)
    assert "{" not in RULES[rule].words and RULES[rule].words


@each("rule", QUIET)
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
        [("The trainer's KL spikes at step 30", 30, 30)],
    ),
    (
        "kl_spike", {"trainer kl": np.where(STEPS < 40, 0.01, 3.0)},
        [("The trainer's KL has been high since step 40", 40, 59)],
    ),
    (
        "kl_spike", {name: with_values(FLAT + 0.01, _30=9) for name in ("token kl", "trainer kl", "trainer ref/kl")},
        [("Token KL spikes at step 30", 30, 30)],
    ),
    ("lost_samples", {"samples ": with_values(FLAT + 64, _0=17)}, [("Step 0 has 17 samples", 0, 0)]),
    (
        "discarded_rise",
        {
            "share discarded": FLAT + 0.34, "share discarded/stale": FLAT + 0.3,
            "share discarded/zero_advantage": FLAT + 0.04,
        },
        [("34% of the samples are discarded", 48, 59)],
    ),
    ("discarded_rise", {"share discarded": FLAT + 0.34, "share discarded/zero_advantage": FLAT + 0.34}, []),
    (
        "discarded_rise", {"share discarded": FLAT + 0.7, "share discarded/zero_advantage": FLAT + 0.7},
        [("70% of the samples are discarded", 48, 59)],
    ),
    (
        "discarded_rise",
        {"share discarded": np.where(STEPS < 40, 0.05, 0.3), "share discarded/zero_advantage": FLAT + 0.05},
        [("Discarded samples rise to 30%", 40, 59)],
    ),
    (
        "entropy_collapse", {"token entropy": with_values(np.where(STEPS < 40, 2.0, 0.1), _3=0.1)},
        [("Entropy fell from 2 to 0.1", 40, 59)],
    ),
]  # fmt: skip


@each(("rule", "curves", "expected"), MORE_RINGS)
def test_what_is_seen_only_by_a_closer_look(rule: str, curves: dict[str, Any], expected: list[Any]) -> None:
    assert raised(rule, curves) == expected


def test_a_fall_that_steps_of_64_samples_show_is_told_with_the_best_step() -> None:
    steps = np.arange(40)
    falls = np.where(steps <= 21, 0.35 + 0.24 * steps / 21, 0.59 - 0.36 * np.minimum(1, (steps - 21) / 12))
    rewards = falls + 0.06 * np.random.default_rng(1).standard_normal(40)
    curves = {"sample reward": rewards, "sample reward std": [0.48] * 40}
    (alarm,) = [one.alarm for one in check(Curves(**curves), RULES.keys() - {"reward_collapse"}).raised]
    assert alarm.title.startswith("Reward fell from 0.") and ": best at step " in alarm.text
    assert 22 <= alarm.first_step <= 32 and alarm.last_step == 39


def test_a_trend_is_spearmans_rank_correlation() -> None:
    values = pd.Series([0.0, 0, 0, 0, 1, 1, 3, 2])
    trend = rank_correlation(History(np.arange(8), values.to_numpy()))
    assert trend == pytest.approx(values.rank().corr(pd.Series(range(8))))


def test_groups_without_spread_are_those_without_an_advantage() -> None:
    curves = RINGS["no_spread"][0]
    for more, where in (({}, ""), ({"sample advantage": FLAT}, "advantage >= -1e-06 and advantage <= 1e-06")):
        (alarm,) = RULES["no_spread"].look(Curves(**curves, **more))
        assert alarm.where == where


def test_many_discarded_samples_have_their_numbers_and_reasons() -> None:
    stale, flat = np.where(STEPS < 20, 0.2, 0.3), FLAT + 0.04
    curves = {"share discarded": stale + flat, "share discarded/zero_advantage": flat, "share discarded/stale": stale}
    (alarm,) = RULES["discarded_rise"].look(Curves(**curves))
    reasons = "reasons: stale 30%, zero_advantage 4%"
    assert alarm.text == f"in the last 12 steps; at best 24% in steps 0 to 11; {reasons}"
    assert alarm.where == "discarded = stale" and alarm.discarded


def test_a_rule_that_lacks_scores_of_one_evaluation_says_so_beside_its_alarm() -> None:
    falling = RINGS["eval_down"][0]
    found = check(Curves(**falling, **{"eval code": [0.5] * 5, "eval few": [1]}), RULES.keys() - {"eval_down"})
    assert [one.alarm.split for one in found.raised] == ["math"] and found.checked == []
    (left,) = found.unchecked
    assert left.reason == "5 scores of code; 16 are needed; 1 score of few; 16 are needed"
    rewards = {**falling, "sample reward": UP[:33]}
    assert not check(Curves(**rewards), RULES.keys() - {"eval_down"}).raised, "3 steps with rewards are too few"


def test_an_evaluation_that_falls_shows_its_wrong_answers() -> None:
    (alarm,) = RULES["eval_down"].look(Curves(**RINGS["eval_down"][0]))
    assert (alarm.split, alarm.where) == ("math", "reward < 1")


@pytest.mark.parametrize(
    "name", ["eval/acc", "val-core/math/reward/mean@8", "test/aime24", "eval_gsm8k", "eval/math500"]
)
def test_a_score_that_the_trainer_logs_of_an_evaluation_and_that_falls_is_told(name: str) -> None:
    curves = {"sample reward": UP, f"trainer {name}": 0.6 - 0.3 * UP}
    assert raised("eval_down", curves) == [(f"Reward up, {name} down since step 30", 30, 59)]


def test_a_logged_score_that_falls_since_its_best_is_told_though_the_reward_no_longer_rises() -> None:
    reward = np.minimum(1, 3 * UP)
    falls = 0.5 + 0.6 * np.minimum(UP, 0.3) - 0.4 * np.maximum(0, UP - 0.3) + 0.005 * noise()
    curves = {"sample reward": reward, "trainer eval/acc": falls}
    ((title, first, last),) = raised("eval_down", curves)
    assert title == f"Reward up, eval/acc down since step {first}" and 17 <= first <= 24 and last == 59
    assert raised("eval_down", {"sample reward": 1 - UP, "trainer eval/acc": falls}) == []


@pytest.mark.parametrize(
    "name",
    ["eval/loss", "eval/math/tokens", "train/acc", "eval/speed", "eval/gsm8k_kl", "evals", "eval/math/error_rate"],
)
def test_what_the_trainer_logs_beside_an_evaluation_is_no_score(name: str) -> None:
    assert raised("eval_down", {"sample reward": UP, f"trainer {name}": 0.6 - 0.3 * UP}) == []


def test_a_logged_score_that_wanders_or_loses_a_little_is_no_fall() -> None:
    for score in (0.6 * noise(), 0.6 - 0.05 * UP):
        assert raised("eval_down", {"sample reward": UP, "trainer eval/acc": score}) == []


def test_a_new_level_is_one_alarm_and_later_spikes_stand_out_from_it() -> None:
    values = np.concatenate([np.full(20, 1.0), np.full(80, 10.0), [100.0], np.full(5, 10.0)])
    found = spikes(History(np.arange(len(values)), values), 4, 8)
    assert [(int(one.points.steps[0]), round(one.usual, 9)) for one in found] == [(20, 1.0), (100, 10.0)]


def test_rules_can_be_left_out_and_errors_come_first() -> None:
    curves = Curves(**RINGS["not_finite"][0], **RINGS["entropy_collapse"][0])
    assert [one.rule.name for one in check(curves).raised] == ["not_finite", "entropy_collapse"]
    assert [one.rule.name for one in check(curves, ["not_finite"]).raised] == ["entropy_collapse"]
