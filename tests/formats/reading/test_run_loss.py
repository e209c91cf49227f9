"""The loss of a run, from the configurations that frameworks write."""

from pathlib import Path
from typing import Any

import pytest

import rolloupe
from rolloupe import query, tokens
from rolloupe.formats.reading.run_loss import run_loss_of
from rolloupe.model import LARGEST, RunLoss


@pytest.mark.parametrize(
    ("config", "rule", "thresholds", "kl_weight", "aggregation"),
    [
        ({"actor_rollout_ref": {"actor": {"clip_ratio": 0.2}}}, "ppo", {"low": 0.2, "high": 0.2, "dual": 3.0}, 0.0,
         "token_mean"),
        (
            {"actor_rollout_ref": {"actor": {"clip_ratio": 0.2, "clip_ratio_high": 0.28, "use_kl_loss": True,
                                             "kl_loss_coef": 0.001, "clip_ratio_c": 10.0,
                                             "loss_agg_mode": "seq-mean-token-mean"}}},
            "dapo", {"low": 0.2, "high": 0.28, "dual": 10.0}, 0.001, "sequence_mean",
        ),
        (
            {"actor_rollout_ref": {"actor": {"clip_ratio": 0.2, "clip_ratio_low": 3e-4, "clip_ratio_high": 4e-4,
                                             "policy_loss": {"loss_mode": "gspo"}, "kl_loss_coef": 0.1,
                                             "loss_agg_mode": "token-mean"}}},
            "gspo", {"low": 3e-4, "high": 4e-4}, 0.0, "sequence_mean",
        ),
        ({"loss_type": "grpo", "epsilon": 0.2, "epsilon_high": None, "beta": 0.04}, "ppo",
         {"low": 0.2, "high": 0.2}, 0.04, "sequence_mean"),
        ({"args": [{"loss_type": "dapo", "epsilon": 0.2, "epsilon_high": 0.28, "delta": 4.0}]}, "dapo",
         {"low": 0.2, "high": 0.28, "dual": 4.0}, 0.0, "token_mean"),
        ({"loss_type": "dr_grpo", "epsilon": 0.2, "delta": None}, "ppo", {"low": 0.2, "high": 0.2}, 0.0, "token_mean"),
        ({"loss_type": "cispo", "epsilon": 0.2, "epsilon_high": 5.0}, "cispo", {"high": 5.0}, 0.0, "token_mean"),
        ({"loss_type": "grpo", "epsilon": 3e-4, "epsilon_high": 4e-4, "importance_sampling_level": "sequence"}, "gspo",
         {"low": 3e-4, "high": 4e-4}, 0.0, "sequence_mean"),
        ({"loss_fn": "importance_sampling", "loss_fn_config": None}, "importance_sampling", {}, 0.0, "token_mean"),
        ({"loss_fn": "ppo", "loss_fn_config": {"clip_low_threshold": 0.9}}, "ppo", {"low": 0.1, "high": 0.2}, 0.0,
         "token_mean"),
        ({"trainer": {"loss": {"type": "default", "dppo_mask_low": 0.1, "dppo_mask_high": 0.3}}}, "dppo",
         {"low": 0.1, "high": 0.3}, 0.0, "token_mean"),
        ({"loss": {"type": "ipo", "ipo_threshold": 0.05}}, "ipo", {"threshold": 0.05}, 0.0, "token_mean"),
        ({"args": {"advantage_estimator": "grpo", "eps_clip": 0.2, "eps_clip_high": 0.28, "use_kl_loss": True,
                   "kl_loss_type": "low_var_kl", "kl_loss_coef": 0.01, "eps_clip_c": None}},
         "dapo", {"low": 0.2, "high": 0.28}, 0.01, "sequence_mean"),
        ({"advantage_estimator": "ppo", "eps_clip": 0.2, "eps_clip_high": None, "use_kl_loss": True, "eps_clip_c": 3.0,
          "kl_loss_type": "k1", "kl_loss_coef": 0.01, "calculate_per_token_loss": True},
         "ppo", {"low": 0.2, "high": 0.2, "dual": 3.0}, 0.0, "token_mean"),
        ({"advantage_estimator": "gspo", "eps_clip": 3e-4, "eps_clip_high": 4e-4}, "gspo",
         {"low": 3e-4, "high": 4e-4}, 0.0, "sequence_mean"),
        ({"advantage_estimator": "cispo", "eps_clip": 1.0, "eps_clip_high": 4.0}, "cispo", {"high": 4.0}, 0.0,
         "sequence_mean"),
        ({"clip_low": 0.2, "clip_high": 0.2}, "ppo", {"low": 0.2, "high": 0.2}, 0.0, None),
    ],
)  # fmt: skip
def test_the_settings_of_frameworks_name_a_rule(
    config: dict[str, Any], rule: str, thresholds: dict[str, float], kl_weight: float, aggregation: str | None
) -> None:
    found = run_loss_of(config)
    assert found is not None
    assert (found.rule, found.kl_weight, found.aggregation) == (rule, kl_weight, aggregation)
    assert found.thresholds == pytest.approx(thresholds)
    tokens.update_rule(found.rule, found.thresholds)  # it has these thresholds


@pytest.mark.parametrize(
    ("config", "setting", "left_out"),
    [
        ({"loss_type": "grpo", "epsilon": 0.2, "beta": 0.04}, "beta", {}),
        ({"loss_type": "grpo", "epsilon": 0.2, "beta": 0.0}, "", {}),
        ({"actor": {"clip_ratio": 0.2, "use_kl_loss": True, "kl_loss_coef": 0.1}}, "actor.kl_loss_coef", {}),
        ({"actor": {"clip_ratio": 0.2, "use_kl_loss": True, "kl_loss_coef": 0.1, "kl_loss_type": "mse"}}, "",
         {"actor.kl_loss_coef": 0.1}),
        ({"actor": {"clip_ratio": 0.2, "use_kl_loss": False, "kl_loss_coef": 0.1, "kl_loss_type": "mse"}}, "", {}),
        ({"advantage_estimator": "grpo", "eps_clip": 0.2, "use_kl_loss": True, "kl_loss_type": "k1",
          "kl_loss_coef": 0.01}, "", {"kl_loss_coef": 0.01}),
        ({"loss": {"type": "default", "dppo_mask_low": 0.2, "kl_tau": 1e-3}}, "", {"loss.kl_tau": 1e-3}),
        ({"loss": {"type": "default", "dppo_mask_low": 0.2, "kl_tau": float("nan")}}, "", {}),
        ({"clip_low": 0.2, "clip_high": 0.2, "kl_weight": 0.01}, "kl_weight", {}),
    ],
)  # fmt: skip
def test_a_penalty_has_the_name_of_its_setting_and_another_than_k3_is_left_out(
    config: dict[str, Any], setting: str, left_out: dict[str, float]
) -> None:
    found = run_loss_of(config)
    assert found is not None
    assert (found.kl_setting, found.left_out) == (setting, left_out)
    assert bool(found.kl_weight) == bool(setting)


@pytest.mark.parametrize(
    "config",
    [
        {}, {"actor": {}}, {"actor": 3}, {"loss_type": "sft", "epsilon": 0.2}, {"loss_fn": "own", "loss_fn_config": {}},
        {"loss": "x"}, {"loss": {"type": "own"}}, {"clip_low": "a", "clip_high": 0.2},
        {"clip_low": 0.2, "clip_high": 0.2, "use_ppo_clip": False},
        {"actor": {"clip_ratio": 0.2, "policy_loss": {"loss_mode": "kl-cov"}}},
    ],
)  # fmt: skip
def test_what_names_no_known_loss_is_none(config: dict[str, Any]) -> None:
    assert run_loss_of(config) is None


def test_a_number_that_no_loss_can_have_is_a_finite_one() -> None:
    loss = run_loss_of({"clip_low": 0.2, "clip_high": float("inf"), "kl_weight": float("nan")})
    assert loss is not None
    assert (loss.rule, loss.thresholds, loss.kl_weight) == ("dapo", {"low": 0.2, "high": LARGEST}, 0.0)
    loss = run_loss_of({"loss_type": "cispo", "epsilon": 0.2, "epsilon_high": float("nan"), "beta": float("inf")})
    assert loss is not None
    assert (loss.rule, loss.thresholds, loss.kl_weight) == ("cispo", {}, 0.0)


def test_a_huge_or_deep_configuration_ends() -> None:
    deep: dict[str, Any] = {}
    for _ in range(20_000):
        deep = {"a": deep, "b": [deep]}  # shared, so that the number of places doubles with each level
    assert run_loss_of(deep) is None
    assert run_loss_of({"many": [{} for _ in range(10**5)]}) is None


def test_the_bundled_run_says_what_it_was_trained_with(short_grpo: Path, demo_index: Path) -> None:
    with rolloupe.open(short_grpo, index_dir=demo_index) as runs:
        loss = query.loss_of(runs[0].indexed())
        assert loss == RunLoss(
            rule="dapo", thresholds={"low": 0.2, "high": 0.28}, kl_weight=0.01, kl_setting="kl_weight",
            read_from="clip_low, clip_high",
        )  # fmt: skip
        page = query.token_page(runs[0].sample("train/0/00/0"), loss=loss)
        assert page.updates[0] == "dapo"
        (rule, series) = page.rules[0]
        assert (rule.name, series) == ("dapo", "importance_ratio")
