"""The catalogue of token series: their names, what they mean, and how some follow from others.

Names are those of the field. `logprobs` are those at sampling; `trainer_logprobs` those of the policy that is trained;
`old_logprobs` those of this policy at the start of the step, if the loss compares with them instead of those at
sampling. Without `trainer_logprobs` the policy is that at the start of the step, as it is for the first minibatch, and
without both that at sampling. Log-probabilities are in nats.
"""

import math
from collections.abc import Callable, Collection, Container, Mapping
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rolloupe.model import SeriesFacts
from rolloupe.tokens import ratios
from rolloupe.tokens.arrays import ADVANTAGES, GROUP_ADVANTAGES, MASK, Flags, Floats, counts

Starts: TypeAlias = NDArray[np.int64]
"""The first token of each of several samples in one array."""

Scale: TypeAlias = Literal["linear", "symmetric", "log"]
"""How to colour a series; `symmetric` has two hues around 0."""


class SeriesKind(NamedTuple):
    """What is known about the series of one name."""

    title: str
    about: str
    scale: Scale = "linear"


class _Formula(NamedTuple):
    """A series that follows from others: each input is the first of some names that a sample has."""

    inputs: tuple[tuple[str, ...], ...]
    compute: Callable[..., Floats]


TRAINER, OLD, SAMPLING, REF = ("trainer_logprobs", "old_logprobs"), ("old_logprobs",), ("logprobs",), ("ref_logprobs",)
POLICY = (*TRAINER, *SAMPLING)
RECORDED_MASK = "is_masked"

KINDS: dict[str, SeriesKind] = {
    "logprobs": SeriesKind("Logprob at sampling", "log-probability of the token when it was sampled, in nats"),
    "trainer_logprobs": SeriesKind("Logprob of the trainer", "log-probability that the trained policy gives, in nats"),
    "old_logprobs": SeriesKind("Logprob before the step", "log-probability at the start of the step, in nats"),
    "ref_logprobs": SeriesKind("Logprob of the reference", "log-probability that the reference model gives, in nats"),
    "probability": SeriesKind("Probability", "exp(logprob) of the policy"),
    "sampling_probability": SeriesKind("Probability at sampling", "exp(logprob at sampling)"),
    "ref_probability": SeriesKind("Probability of the reference", "exp(logprob of the reference)"),
    "log_ratio": SeriesKind("Log ratio to the reference", "logprob - ref_logprob, in nats; also KL k1", "symmetric"),
    "kl": SeriesKind("KL", "KL to the reference as the framework defines it, in nats", "log"),
    "kl_k2": SeriesKind("KL k2", "(logprob - ref_logprob)² / 2, in nats", "log"),
    "kl_k3": SeriesKind("KL k3", "exp(-d) - 1 + d with d = logprob - ref_logprob, in nats", "log"),
    "entropy": SeriesKind("Entropy", "entropy of the distribution that the token was drawn from, in nats"),
    "rewards": SeriesKind("Reward of the sequence", "reward of the whole sequence, at each of its tokens", "symmetric"),
    "token_rewards": SeriesKind("Token reward", "reward given at the token", "symmetric"),
    "values": SeriesKind("Value", "what the critic expected at the token", "symmetric"),
    "value_error": SeriesKind("Value error", "(value - token reward)²", "log"),
    "returns": SeriesKind("Return", "what the critic learns to expect at the token", "symmetric"),
    "advantages": SeriesKind("Advantage", "advantage of the token", "symmetric"),
    "group_advantages": SeriesKind(
        "Advantage within the group",
        "(reward - mean) / (standard deviation + 0.0001) over the group, as the record holds no advantage",
        "symmetric",
    ),
    "log_importance_ratio": SeriesKind(
        "Log importance ratio", "logprob of the trainer - logprob at sampling, in nats", "symmetric"
    ),
    "importance_ratio": SeriesKind(
        "Importance ratio", "probability by the trainer / probability at sampling; 1 if they agree", "log"
    ),
    "update_ratio": SeriesKind("Update ratio", "probability now / probability before the step, which a clip compares"),
    "sequence_ratio": SeriesKind(
        "Sequence ratio", "geometric mean of the ratios that a clip compares, over trained tokens, as in GSPO", "log"
    ),
    "prob_delta": SeriesKind("Probability change", "probability by the trainer - probability at sampling", "symmetric"),
    "mismatch_kl": SeriesKind("Mismatch KL", "r - ln r - 1 with the importance ratio r, in nats", "log"),
    "sample_kl_trainer_to_inference": SeriesKind(
        "Sample KL, trainer to engine", "logprob of the trainer - logprob at sampling, in nats", "symmetric"
    ),
    "sample_kl_inference_to_trainer": SeriesKind(
        "Sample KL, engine to trainer", "logprob at sampling - logprob of the trainer, in nats", "symmetric"
    ),
    "loss_mask": SeriesKind("Loss mask", "1 for a trained token"),
    "attention_mask": SeriesKind("Attention mask", "0 for padding"),
    "is_masked": SeriesKind("Masked", "1 for a token that the trainer masked, so that it is out of the loss"),
    "is_masked_high": SeriesKind("Masked, high", "1 for a masked token that had moved up too far"),
    "is_masked_low": SeriesKind("Masked, low", "1 for a masked token that had moved down too far"),
    "rl_weights": SeriesKind("Weight of the RL loss", "weight of the token in the RL loss"),
    "ce_weights": SeriesKind("Weight of the cross-entropy", "weight of the token in the cross-entropy loss"),
    "ref_kl_weights": SeriesKind("Weight of the KL", "weight of the token in the KL penalty"),
}
"""What series mean, by name, in the order of a page."""

DIFFERENCE = "_difference"
"""Ends the name of a series that is a recorded series minus the same series, computed."""


def _squared_error(values: Floats, token_rewards: Floats) -> Floats:
    with np.errstate(over="ignore", invalid="ignore"):
        return (values - token_rewards) ** 2


def _exp(logprobs: Floats) -> Floats:
    return ratios.importance_ratio(logprobs)


_FORMULAS: dict[str, _Formula] = {
    "probability": _Formula((POLICY,), _exp),
    "sampling_probability": _Formula((SAMPLING, TRAINER), lambda sampling, _: _exp(sampling)),
    "ref_probability": _Formula((REF,), _exp),
    "log_ratio": _Formula((POLICY, REF), ratios.log_ratio),
    "kl_k2": _Formula((POLICY, REF), lambda logprobs, ref: ratios.kl_k2(ratios.log_ratio(logprobs, ref))),
    "kl_k3": _Formula((POLICY, REF), lambda logprobs, ref: ratios.kl_k3(ratios.log_ratio(logprobs, ref))),
    "log_importance_ratio": _Formula((TRAINER, SAMPLING), ratios.log_ratio),
    "importance_ratio": _Formula(
        (TRAINER, SAMPLING), lambda trainer, sampling: ratios.importance_ratio(ratios.log_ratio(trainer, sampling))
    ),
    "update_ratio": _Formula(
        (TRAINER, OLD), lambda trainer, old: ratios.importance_ratio(ratios.log_ratio(trainer, old))
    ),
    "prob_delta": _Formula((TRAINER, SAMPLING), ratios.prob_delta),
    "mismatch_kl": _Formula(
        (TRAINER, SAMPLING), lambda trainer, sampling: ratios.mismatch_kl(ratios.log_ratio(trainer, sampling))
    ),
    "value_error": _Formula((("values",), ("token_rewards",)), _squared_error),
}


def computed_series(
    recorded: Mapping[str, Floats], loss_mask: Floats | None = None, starts: Starts | None = None
) -> dict[str, Floats]:
    """Return every series that follows from the recorded ones, all of shape (T,), whether it was recorded or not.

    A value is NaN where an input is. `sequence_ratio` is the same for each token that counts in it: those under the
    mask, or without one those that have a ratio. If the arrays hold several samples, one behind the other, `starts` are
    their first tokens; a sample has at least one.
    """
    found = {}
    for name, formula in _FORMULAS.items():
        names = [next((one for one in some if one in recorded), None) for some in formula.inputs]
        if all(one is not None for one in names):
            found[name] = formula.compute(*(recorded[one] for one in names if one is not None))
    policy, old = (next((recorded[one] for one in some if one in recorded), None) for some in (TRAINER, OLD + SAMPLING))
    if policy is not None and old is not None:
        gaps = ratios.log_ratio(policy, old)
        counted = ~np.isnan(gaps) if loss_mask is None else ~np.isnan(gaps) & counts(loss_mask)
        if counted.any():
            found["sequence_ratio"] = np.where(counted, _sequence_ratios(gaps, counted, starts), np.nan)
    return found


def _sequence_ratios(gaps: Floats, counted: NDArray[np.bool_], starts: Starts | None) -> Floats:
    """The geometric mean of the ratios of each sample, for each of its tokens."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if starts is None:
            ratio: Floats = np.exp(gaps[counted].mean(keepdims=True))
            return ratio
        sums = np.add.reduceat(np.where(counted, gaps, 0.0), starts)
        ratios: Floats = np.exp(sums / np.add.reduceat(counted, starts, dtype=np.int64))
        return np.repeat(ratios, np.diff(starts, append=len(gaps)))


def kind_of(name: str) -> SeriesKind:
    """Return what is known about a series; one that is not in the catalogue is called by its name."""
    if name.endswith(DIFFERENCE) and (base := name.removesuffix(DIFFERENCE)) in KINDS:
        title = KINDS[base].title
        return SeriesKind(f"{title}: recorded - computed", f"recorded {base} minus the computed one", "symmetric")
    return KINDS.get(name, SeriesKind(name, f"the series {name} as the framework recorded it"))


_OTHER_NAMES: dict[str, tuple[str, ...]] = {
    "kl": ("kl_k3", "mismatch_kl"),
    "k1": ("log_ratio",),
    "kl_k1": ("log_ratio",),
    "k2": ("kl_k2",),
    "k3": ("kl_k3",),
    "advantage": ("advantages", "group_advantages"),
    "advantages": ("group_advantages",),
    "ratio": ("importance_ratio", "update_ratio"),
    "entropies": ("entropy",),
    "entropys": ("entropy",),
    **dict.fromkeys(
        (
            "inference_logprobs", "sampling_logprobs", "generation_logprobs", "rollout_logprobs", "rollout_log_probs",
            "sampling_per_token_logps",
        ),
        ("logprobs",),
    ),
    **dict.fromkeys(("prev_logprobs", "log_probs", "old_log_probs", "old_per_token_logps"), ("old_logprobs",)),
    **dict.fromkeys(
        (
            "reference_logprobs", "reference_policy_logprobs", "ref_log_probs", "ref_log_prob",
            "ref_per_token_logps",
        ),
        ("ref_logprobs",),
    ),
    "inference_prob": ("sampling_probability",),
    "trainer_prob": ("probability",),
}  # fmt: skip
"""By another name, the series that it means: the first of them that samples have."""


def has_other_meaning(name: str) -> bool:
    """True for a name that means another series where no series is called so."""
    return name in _OTHER_NAMES


def name_among(name: str, known: Container[str]) -> str:
    """Return the known series that a name means: the one called so, else the first of those that it may mean.

    A name that means none of them is returned as it is.
    """
    return next((one for one in (name, *_OTHER_NAMES.get(name, ())) if one in known), name)


Origin: TypeAlias = Literal["recorded", "derived", "difference"]


class SampleSeries(NamedTuple):
    """A token series over all tokens of a sample: `values` has the shape (T,), NaN for a token without a value."""

    name: str
    origin: Origin
    values: Floats


def completed(
    recorded: Mapping[str, Floats],
    by_framework: Collection[str],
    advantage: float | Floats | None = None,
    starts: Starts | None = None,
    group_advantage: float | None = None,
) -> list[SampleSeries]:
    """Return the recorded series in the order of the record, then derived ones, then differences.

    A recorded series wins over the same series, computed; if it is one of those `by_framework`, the difference between
    them is a series of its own. `advantage` is that of the sample, for every trained token. If the arrays hold several
    samples, one behind the other, `starts` are their first tokens, and `advantage` has a value for each token. Where
    there is no advantage, `group_advantage` is that of the sample within its group.
    """
    computed = computed_series(recorded, recorded.get(MASK), starts)
    if ADVANTAGES not in recorded and advantage is not None and recorded:
        computed[ADVANTAGES] = np.where(trained(recorded), advantage, np.nan)
    elif ADVANTAGES not in recorded and group_advantage is not None and recorded:
        computed[GROUP_ADVANTAGES] = np.where(trained(recorded), group_advantage, np.nan)
    found = [
        SampleSeries(name, "recorded" if name in by_framework else "derived", values)
        for name, values in recorded.items()
    ]
    found += [SampleSeries(name, "derived", values) for name, values in computed.items() if name not in recorded]
    for name in (name for name in computed if name in by_framework):
        with np.errstate(invalid="ignore", over="ignore"):
            found.append(SampleSeries(name + DIFFERENCE, "difference", recorded[name] - computed[name]))
    return found


def trained(series: Mapping[str, Floats]) -> Flags:
    """Return which tokens count, shape (T,): those under the loss mask, or without one those with a value."""
    if MASK in series:
        return counts(series[MASK])
    logprobs = [series[name] for name in POLICY if name in series][:1]
    has_value: Flags = np.logical_or.reduce([~np.isnan(values) for values in logprobs or series.values()])
    return has_value


AT_ONCE = 2**15
"""How many values to process together: many short series cost little more than one, but long ones leave the cache."""


def facts_of(series: Mapping[str, Floats]) -> dict[str, SeriesFacts]:
    """Return the facts of series of one length, each of shape (T,), over their finite values; none without such.

    Of equal extremes, the first token counts. Squares are of distances from the mean, because others lose digits.
    """
    values = list(series.values())
    if not values or not len(values[0]):
        return {}
    if len(values) * len(values[0]) <= AT_ONCE:
        together = np.concatenate(values).reshape(len(values), -1)
        with np.errstate(all="ignore"):
            sums = together.sum(axis=1)
        if np.isfinite(sums).all():  # every value is finite then
            return dict(zip(series, _facts_of_rows(together, sums), strict=True))
    found = {name: _facts_of_one(one) for name, one in series.items()}
    return {name: facts for name, facts in found.items() if facts is not None}


def _facts_of_rows(values: Floats, sums: Floats) -> list[SeriesFacts]:
    """Return facts of finite `values`, shape (S, T) with one series per row, and their `sums`, shape (S,)."""
    series, length = values.shape
    with np.errstate(all="ignore"):  # 1e308 + 1e308 is inf, and that is the honest sum
        centred = values - (sums / length)[:, None]
        m2s = np.square(centred, out=centred).sum(axis=1)
    min_at, max_at, rows = values.argmin(axis=1), values.argmax(axis=1), np.arange(series)
    columns = (sums, m2s, values[rows, min_at], min_at, values[rows, max_at], max_at)
    return [SeriesFacts(length, *facts) for facts in zip(*(column.tolist() for column in columns), strict=True)]


def _facts_of_one(values: Floats) -> SeriesFacts | None:
    with np.errstate(all="ignore"):
        total = values.sum()
    if math.isfinite(total):
        return _facts_of_rows(values[None, :], np.array([total]))[0]
    finite = np.isfinite(values)
    finite_values = values[finite]
    if not len(finite_values):
        return None
    with np.errstate(all="ignore"):
        (facts,) = _facts_of_rows(finite_values[None, :], np.array([finite_values.sum()]))
    places = np.flatnonzero(finite)
    return SeriesFacts(
        facts.count, facts.sum, facts.m2, facts.min, int(places[facts.min_at]), facts.max, int(places[facts.max_at])
    )
