"""The loss that trained a run, from its configuration.

Frameworks name their settings differently; a setting that is missing has the framework's default. Sources: verl's
`actor` configuration and `core_algos.py`, TRL's `GRPOConfig`, the loss functions of Tinker's API, prime-rl's
`trainer/rl/loss.py`, the arguments and `ppo_utils.py` of slime and miles.
"""

from collections.abc import Iterator
from typing import Any

from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.model import Aggregation, RunLoss

MAX_PLACES = 10_000
"""The most objects of a configuration to look at."""
Settings = dict[str, Any]
OF_TRL: dict[str, Aggregation] = {
    "grpo": "sequence_mean", "bnpo": "token_mean", "dr_grpo": "token_mean", "dapo": "token_mean", "cispo": "token_mean",
}  # fmt: skip
"""The weights of tokens by `loss_type` of TRL."""
OF_VERL: dict[str, Aggregation] = {
    "token-mean": "token_mean", "seq-mean-token-sum": "token_mean", "seq-mean-token-sum-norm": "token_mean",
    "seq-mean-token-mean": "sequence_mean",
}  # fmt: skip
"""The weights of tokens by `loss_agg_mode` of verl."""
K3 = ("k3", "low_var_kl", "k3+", "low_var_kl+")
"""The names of the penalty k3 in verl, slime and miles."""


def run_loss_of(config: Settings) -> RunLoss | None:
    """Return the loss that a configuration names; None if it names none that Rolloupe knows."""
    for settings in _objects(config):
        for read in (_verl, _trl, _tinker, _prime_rl, _slime, _plain):
            if (loss := read(settings)) is not None:
                return loss
    return None


def _objects(config: Settings) -> Iterator[Settings]:
    """Yield every object of a configuration, outer ones first."""
    waiting: list[Any] = [config]
    for number, value in enumerate(waiting):
        if number == MAX_PLACES:
            return
        if isinstance(value, dict):
            yield value
        members = value.values() if isinstance(value, dict) else value
        waiting += [member for member in members if isinstance(member, (dict, list))]


def _number(settings: Settings, name: str, default: float) -> float:
    value = parsers.number(settings.get(name))
    return default if value is None else value


def _verl(settings: Settings) -> RunLoss | None:
    actor = settings.get("actor")
    if not isinstance(actor, dict) or "clip_ratio" not in actor:
        return None
    both = _number(actor, "clip_ratio", 0.2)
    low, high = _number(actor, "clip_ratio_low", both), _number(actor, "clip_ratio_high", both)
    policy = actor.get("policy_loss")
    mode = policy.get("loss_mode", "vanilla") if isinstance(policy, dict) else "vanilla"
    kl = _penalty(actor, actor.get("kl_loss_type", "low_var_kl"), "actor.kl_loss_coef")
    thresholds, read_from = {"low": low, "high": high}, "actor.clip_ratio, loss_agg_mode"
    if mode == "gspo":  # it has one aggregation
        return _loss("gspo", thresholds, kl, "sequence_mean", "actor.clip_ratio")
    if mode != "vanilla":
        return None
    thresholds["dual"] = _number(actor, "clip_ratio_c", 3.0)
    aggregation = OF_VERL.get(str(actor.get("loss_agg_mode", "token-mean")))
    return _loss("ppo" if low == high else "dapo", thresholds, kl, aggregation, read_from)


def _penalty(settings: Settings, kind: object, setting: str) -> Settings:
    """Return the KL penalty of verl, slime and miles; a penalty of a type other than k3 is left out."""
    weight = _number(settings, "kl_loss_coef", 0.0) if settings.get("use_kl_loss") is True else 0.0
    return _k3(weight, setting) if kind in K3 else {"left_out": {setting: weight}}


def _trl(settings: Settings) -> RunLoss | None:
    kind = settings.get("loss_type")
    if not isinstance(kind, str) or "epsilon" not in settings:
        return None
    low = _number(settings, "epsilon", 0.2)
    high, kl = _number(settings, "epsilon_high", low), _k3(_number(settings, "beta", 0.0), "beta")
    if kind not in OF_TRL:
        return None
    if kind == "cispo":
        return _loss("cispo", {"high": high}, kl, OF_TRL[kind], "loss_type, epsilon_high")
    thresholds, read_from = {"low": low, "high": high}, "loss_type, epsilon, beta"
    if settings.get("importance_sampling_level") == "sequence":
        return _loss("gspo", thresholds, kl, OF_TRL[kind], read_from)
    if (dual := parsers.number(settings.get("delta"))) is not None:
        thresholds["dual"] = dual
    return _loss("ppo" if low == high else "dapo", thresholds, kl, OF_TRL[kind], read_from)


def _tinker(settings: Settings) -> RunLoss | None:
    name = settings.get("loss_fn")
    if not isinstance(name, str) or "loss_fn_config" not in settings:
        return None
    own = settings["loss_fn_config"] if isinstance(settings["loss_fn_config"], dict) else {}
    low, high = 1 - _number(own, "clip_low_threshold", 0.8), _number(own, "clip_high_threshold", 1.2) - 1
    thresholds: dict[str, dict[str, float]] = {
        "importance_sampling": {}, "ppo": {"low": low, "high": high}, "cispo": {"high": high},
    }  # fmt: skip
    if name not in thresholds:
        return None
    return _loss(name, thresholds[name], {}, "token_mean", "loss_fn, loss_fn_config")


def _prime_rl(settings: Settings) -> RunLoss | None:
    own = settings.get("loss")
    if not isinstance(own, dict):
        return None
    kl = {"left_out": {"loss.kl_tau": _number(own, "kl_tau", 0.0)}}
    if own.get("type") == "default" and "dppo_mask_low" in own:
        thresholds = {"low": _number(own, "dppo_mask_low", 0.2), "high": _number(own, "dppo_mask_high", 0.2)}
        return _loss("dppo", thresholds, kl, "token_mean", "loss.dppo_mask_low, loss.dppo_mask_high")
    if own.get("type") in ("ipo", "default") and ("ipo_threshold" in own or "eps" in own):
        thresholds = {"threshold": _number(own, "ipo_threshold", _number(own, "eps", 0.1))}
        return _loss("ipo", thresholds, kl, "token_mean", "loss")
    return None


def _slime(settings: Settings) -> RunLoss | None:
    """Arguments of slime and miles."""
    estimator = settings.get("advantage_estimator")
    low = parsers.number(settings.get("eps_clip"))
    if not isinstance(estimator, str) or low is None or settings.get("loss_type", "policy_loss") != "policy_loss":
        return None
    high = _number(settings, "eps_clip_high", low)
    kl = _penalty(settings, settings.get("kl_loss_type"), "kl_loss_coef")
    is_by_token = settings.get("calculate_per_token_loss") is True
    aggregation: Aggregation = "token_mean" if is_by_token else "sequence_mean"
    read_from = "advantage_estimator, eps_clip, eps_clip_high, calculate_per_token_loss"
    if estimator == "cispo":  # with a lower bound, it is not the published rule
        return _loss("cispo", {"high": high}, kl, aggregation, read_from) if low >= 1 else None
    thresholds = {"low": low, "high": high}
    if estimator == "gspo":
        return _loss("gspo", thresholds, kl, aggregation, read_from)
    if (dual := parsers.number(settings.get("eps_clip_c"))) is not None:
        thresholds["dual"] = dual
    return _loss("ppo" if low == high else "dapo", thresholds, kl, aggregation, read_from)


def _plain(settings: Settings) -> RunLoss | None:
    """Usual names in other loops."""
    low, high = parsers.number(settings.get("clip_low")), parsers.number(settings.get("clip_high"))
    if low is None or high is None or settings.get("use_ppo_clip") is False:
        return None
    rule = "ppo" if low == high else "dapo"
    kl = _k3(_number(settings, "kl_weight", 0.0), "kl_weight")
    return _loss(rule, {"low": low, "high": high}, kl, None, "clip_low, clip_high")


def _k3(weight: float, setting: str) -> Settings:
    return {"kl_weight": weight, "kl_setting": setting if weight else ""}


def _loss(
    rule: str, thresholds: dict[str, float], kl: Settings, aggregation: Aggregation | None, read_from: str
) -> RunLoss:
    """Return a loss; `kl` has the fields of `RunLoss` for the penalty."""
    return RunLoss(rule=rule, thresholds=thresholds, aggregation=aggregation, read_from=read_from, **kl)
