"""The catalogue of token series: their names, what they mean, how some follow from others, and their facts.

Names are those of the field. `logprobs` are those at sampling; `trainer_logprobs` those of the policy that is trained;
`old_logprobs` those of this policy at the start of the step, if the loss compares with them instead of those at
sampling. Without `trainer_logprobs`, the policy is the one at the start of the step, as for the first minibatch;
without both, it is the one at sampling. Log-probabilities are in nats.
"""

import math
from collections.abc import Callable, Collection, Container, Mapping
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rolloupe.model import SeriesFacts
from rolloupe.tokens.arrays import ADVANTAGES, GROUP_ADVANTAGES, MASK, Flags, Floats, counts

Starts: TypeAlias = NDArray[np.int64]
"""The first token of each of several samples in one array."""

Scale: TypeAlias = Literal["linear", "symmetric", "log"]
"""How to colour a series; `symmetric` has two hues around 0."""


def log_ratio(logprobs: Floats, ref_logprobs: Floats) -> Floats:
    """Return `logprobs - ref_logprobs`, shape (T,), in nats; NaN where either is NaN.

    The two arrays must be of one length. Source: RLLoggingBoard, `log_ratio`; Schulman's k1.
    """
    with np.errstate(invalid="ignore"):
        return logprobs - ref_logprobs


def board_kl(log_ratios: Floats) -> Floats:
    """Return `exp(d) - 1 - d` for `d = logprobs - ref_logprobs`, shape (T,), at least 0; NaN where d is NaN or +inf.

    Source: RLLoggingBoard, `kl`. The ratio is policy over reference, the inverse of the ratio in Schulman's k3, which
    estimates the KL only in that direction; the board's name keeps the board's sign.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return np.expm1(log_ratios) - log_ratios  # accurate for small d


def importance_ratio(log_ratios: Floats) -> Floats:
    """Return `exp(d)` for `d = trainer_logprobs - inference_logprobs`, shape (T,); NaN where d is NaN.

    Source: prime-rl, `importance_ratio`. `log_ratio` computes `d`, prime-rl's `log_importance_ratio`.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return np.exp(log_ratios)


def mismatch_kl(log_ratios: Floats) -> Floats:
    """Return `r - ln r - 1` with `r = exp(d)`, `d = trainer_logprobs - inference_logprobs`, shape (T,), at least 0.

    NaN where d is NaN or +inf. Estimates the KL from the sampling policy to the trained one. Source:
    prime-rl, `mismatch_kl`, which subtracts in float32: its values differ from these by up to 1e-6 max(1, r).
    """
    return board_kl(log_ratios)


def prob_delta(logprobs: Floats, inference_logprobs: Floats) -> Floats:
    """Return `exp(logprobs) - exp(inference_logprobs)`, shape (T,); NaN where either is NaN. Source: prime-rl."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.exp(logprobs) - np.exp(inference_logprobs)


def kl_k2(log_ratios: Floats) -> Floats:
    """Return `d * d / 2` for `d = logprobs - ref_logprobs`, shape (T,); NaN where d is. Source: Schulman's k2."""
    with np.errstate(over="ignore", invalid="ignore"):
        return log_ratios * log_ratios / 2


def kl_k3(log_ratios: Floats) -> Floats:
    """Return `exp(-d) - 1 + d` for `d = logprobs - ref_logprobs`, shape (T,), at least 0; NaN where d is.

    For tokens sampled from the policy, this estimates the KL from policy to reference. Source: Schulman's k3.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return np.expm1(-log_ratios) + log_ratios


def effective_sample_size(weights: Floats) -> float | None:
    """Return `(sum w)**2 / sum w**2` of importance weights, shape (N,), in samples: N if all are equal, at least 1.

    NaN weights are left out. None without a positive weight. Source: Kong 1992.
    """
    known = weights[~np.isnan(weights)]
    largest = float(known.max()) if known.size else 0.0
    if not 0 < largest < np.inf:
        return None
    scaled = known / largest  # the square of a large weight overflows
    return float(scaled.sum() ** 2 / (scaled**2).sum())


def nan_mean(values: Floats) -> float | None:
    """Return the mean without NaN (`numpy.nanmean`); None if nothing is left. An infinity makes it infinite."""
    both = mean_and_sum(values)
    return both[0] if both else None


def nan_sum(values: Floats) -> float | None:
    """Return the sum without NaN (`numpy.nansum`, but None if nothing is left)."""
    both = mean_and_sum(values)
    return both[1] if both else None


def mean_and_sum(values: Floats) -> tuple[float, float] | None:
    """Return `nan_mean` and `nan_sum` at once, in half the time for short arrays."""
    missing = np.isnan(values)
    present = values[~missing] if missing.any() else values
    if not present.size:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        total = float(present.sum())
    return total / present.size, total


EQUAL = 1e-6
"""Rewards of a group are equal if they differ by at most this share of the largest, and a smaller advantage counts as
0. Sums and float32 have smaller errors."""

EPSILON = 1e-4
"""Added to the standard deviation, as TRL and Telescope do."""


def group_advantages(rewards: Floats) -> Floats:
    """Return `(r - mean) / (std + EPSILON)`, shape (N,), for the N rewards of a group.

    NaN rewards count nowhere and stay NaN. A group without spread has advantages of 0, as has a group of one. Source:
    GRPO (Shao et al. 2024), with the sample standard deviation, as in Telescope.
    """
    known = rewards[~np.isnan(rewards)]
    if not known.size:
        return rewards.copy()
    with np.errstate(over="ignore", invalid="ignore"):
        mean = known[0] if (known == known[0]).all() else known.mean()  # `mean` may be off by a rounding error
        std = float(known.std(ddof=1)) if known.size > 1 else 0.0
        advantages: Floats = (rewards - mean) / (std + EPSILON)
        return advantages


class SeriesKind(NamedTuple):
    """What is known about the series of one name."""

    title: str
    about: str
    scale: Scale = "linear"


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
"""The suffix of a series that is a recorded series minus its computed values."""


_FORMULAS: dict[str, tuple[tuple[tuple[str, ...], ...], Callable[..., Floats]]] = {
    "probability": ((POLICY,), importance_ratio),
    "sampling_probability": ((SAMPLING, TRAINER), lambda sampling, _: importance_ratio(sampling)),
    "ref_probability": ((REF,), importance_ratio),
    "log_ratio": ((POLICY, REF), log_ratio),
    "kl_k2": ((POLICY, REF), lambda logprobs, ref: kl_k2(log_ratio(logprobs, ref))),
    "kl_k3": ((POLICY, REF), lambda logprobs, ref: kl_k3(log_ratio(logprobs, ref))),
    "log_importance_ratio": ((TRAINER, SAMPLING), log_ratio),
    "importance_ratio": ((TRAINER, SAMPLING), lambda trainer, sampling: importance_ratio(log_ratio(trainer, sampling))),
    "update_ratio": ((TRAINER, OLD), lambda trainer, old: importance_ratio(log_ratio(trainer, old))),
    "prob_delta": ((TRAINER, SAMPLING), prob_delta),
    "mismatch_kl": ((TRAINER, SAMPLING), lambda trainer, sampling: mismatch_kl(log_ratio(trainer, sampling))),
    "value_error": ((("values",), ("token_rewards",)), lambda values, rewards: (values - rewards) ** 2),
}
"""Series that are computed from others. Each input is the first of several names that a sample has."""


def computed_series(
    recorded: Mapping[str, Floats], loss_mask: Floats | None, starts: Starts | None
) -> dict[str, Floats]:
    """Compute every series that the recorded ones allow, all of shape (T,), even if it was recorded as well.

    A value is NaN where an input is. `sequence_ratio` is the same for each token that counts in it: tokens under the
    mask, or without a mask, tokens with a ratio. If the arrays hold several samples, one behind the other, `starts` are
    their first tokens; a sample has at least one.
    """
    computed = {}
    for name, (inputs, compute) in _FORMULAS.items():
        arrays = [next((recorded[known] for known in names if known in recorded), None) for names in inputs]
        if all(array is not None for array in arrays):
            with np.errstate(over="ignore", invalid="ignore"):
                computed[name] = compute(*arrays)
    policy, old = (
        next((recorded[known] for known in names if known in recorded), None) for names in (TRAINER, OLD + SAMPLING)
    )
    if policy is not None and old is not None:
        gaps = log_ratio(policy, old)
        counted = ~np.isnan(gaps) if loss_mask is None else ~np.isnan(gaps) & counts(loss_mask)
        if counted.any():
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                if starts is None:
                    means = gaps[counted].mean(keepdims=True)
                else:
                    sums = np.add.reduceat(np.where(counted, gaps, 0.0), starts)
                    means = sums / np.add.reduceat(counted, starts, dtype=np.int64)
                    means = np.repeat(means, np.diff(starts, append=len(gaps)))
                computed["sequence_ratio"] = np.where(counted, np.exp(means), np.nan)
    return computed


def kind_of(name: str) -> SeriesKind:
    """Return the title and meaning of a series; one outside the catalogue has its name as title."""
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
"""The series that each alias means: the first of them that samples have."""


def has_other_meaning(name: str) -> bool:
    """Return whether a name is an alias, which counts only if no series has the name itself."""
    return name in _OTHER_NAMES


def name_among(name: str, known: Container[str]) -> str:
    """Return the known series that a name means: the series of this name, else its alias, else the name itself."""
    return next((meant for meant in (name, *_OTHER_NAMES.get(name, ())) if meant in known), name)


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

    A recorded series replaces the computed one; for a series in `by_framework`, the difference between them is added as
    a series. `advantage` is that of the sample, for every trained token. If the arrays hold several
    samples, one behind the other, `starts` are their first tokens, and `advantage` has a value for each token. Where
    there is no advantage, `group_advantage` is that of the sample within its group.
    """
    computed = computed_series(recorded, recorded.get(MASK), starts)
    own, name = (group_advantage, GROUP_ADVANTAGES) if advantage is None else (advantage, ADVANTAGES)
    if ADVANTAGES not in recorded and own is not None and recorded:
        computed[name] = np.where(trained(recorded), own, np.nan)
    series = [
        SampleSeries(name, "recorded" if name in by_framework else "derived", recorded[name]) for name in recorded
    ]
    series += [SampleSeries(name, "derived", values) for name, values in computed.items() if name not in recorded]
    for name in (name for name in computed if name in by_framework):
        with np.errstate(invalid="ignore", over="ignore"):
            series.append(SampleSeries(name + DIFFERENCE, "difference", recorded[name] - computed[name]))
    return series


def trained(series: Mapping[str, Floats]) -> Flags:
    """Return which tokens count, shape (T,): tokens under the loss mask or, without a mask, tokens with a value."""
    if MASK in series:
        return counts(series[MASK])
    logprobs = [series[name] for name in POLICY if name in series][:1]
    has_value: Flags = np.logical_or.reduce([~np.isnan(values) for values in logprobs or series.values()])
    return has_value


AT_ONCE = 2**15
"""How many values to process together: many short series cost little more than one; long ones exceed the cache."""


def facts_of(series: Mapping[str, Floats]) -> dict[str, SeriesFacts]:
    """Return the facts of the finite values of series of one length, shape (T,); leaves out series without any.

    Of equal extremes, the first token counts. Squares are of distances from the mean: squares of values lose digits.
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
    facts = {name: _facts_of_one(values) for name, values in series.items()}
    return {name: of_series for name, of_series in facts.items() if of_series is not None}


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
    places = np.flatnonzero(np.isfinite(values))
    if not len(places):
        return None
    finite_values = values[places]
    with np.errstate(all="ignore"):
        (facts,) = _facts_of_rows(finite_values[None, :], np.array([finite_values.sum()]))
    return SeriesFacts(
        facts.count, facts.sum, facts.m2, facts.min, int(places[facts.min_at]), facts.max, int(places[facts.max_at])
    )
