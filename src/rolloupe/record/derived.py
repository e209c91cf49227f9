"""What follows from the samples of a step: means, shares of groups, and divergences, under the names of the field.

Sums over what was recorded by this process; a metric that the trainer logged itself is left alone. Token means are
sums over tokens by the number of tokens, never means of means.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rolloupe.record.arrays import Array

Floats = NDArray[np.float64]


class Mean:
    """A sum and how many it is of."""

    __slots__ = ("count", "sum")

    def __init__(self) -> None:
        self.sum = 0.0
        self.count = 0

    def add(self, value: float | None, count: int = 1) -> None:
        """Add values by their sum; None adds nothing."""
        if value is not None and count:
            self.sum += value
            self.count += count


class StepSums:
    """The sums of one step of training."""

    def __init__(self, good: float, bad: float) -> None:
        self._good, self._bad = good, bad
        self._means: dict[str, dict[str, Mean]] = defaultdict(lambda: defaultdict(Mean))
        """By environment, `all` among them, and name."""
        self._rewards: dict[tuple[str, str], list[float]] = defaultdict(list)
        """By environment and group."""
        self._tokens: dict[str, Mean] = defaultdict(Mean)
        self._logprobs: dict[str, Floats] = {}
        """Of the sampled tokens, by uid, until the trainer's own arrive."""

    def add(self, record: Mapping[str, Any], series: Mapping[str, Array]) -> None:
        """Add a sample by its record, and as many of its series as there was room for."""
        reward, turns = record.get("reward"), int(record.get("turns", 1))
        group = record.get("group") or str(record.get("prompt"))
        for name in {"all", record.get("env", "")} - {""}:
            means = self._means[name]
            means["reward/total"].add(reward)
            means["total_episodes"].add(1.0)
            means["turns_per_episode"].add(turns)
            means["ac_tokens_per_turn"].add(record.get("response_tokens"), turns)
            means["ob_tokens_per_turn"].add(record.get("prompt_tokens"), turns)
            for metric, value in record.get("metrics", {}).items():
                means[metric].add(value)
            if reward is not None:
                self._rewards[name, group].append(reward)
        self._add_series(record["uid"], series)

    def annotate(self, uid: str, series: Mapping[str, Array]) -> None:
        """Add what the trainer computed for a sample of the step."""
        trainer = series.get("trainer_logprobs")
        sampled = self._logprobs.get(uid)
        if trainer is not None and sampled is not None and len(trainer) == len(sampled):
            self._add_kl(sampled, trainer.astype(np.float64))

    def _add_series(self, uid: str, series: Mapping[str, Array]) -> None:
        """Of arrays over all tokens the mask says which were sampled; without one, arrays are of the response."""
        logprobs = series.get("logprobs")
        mask = series.get("loss_mask")
        for name in ("entropy",):
            if (values := _masked(series.get(name), mask)) is not None:
                self._tokens[f"optim/{name}"].add(float(values.sum()), len(values))
        if logprobs is None:
            return
        sampled = logprobs.astype(np.float64)
        if mask is not None and len(mask) == len(sampled):
            sampled = np.where(mask > 0, sampled, np.nan)
        self._logprobs[uid] = sampled
        self.annotate(uid, series)
        reference = series.get("ref_logprobs")
        policy = series.get("trainer_logprobs", logprobs)
        if reference is not None and len(reference) == len(policy):
            gap = _finite(np.where(np.isnan(sampled), np.nan, 0.0) + policy.astype(np.float64) - reference)
            self._tokens["optim/kl_ref_k1"].add(float(gap.sum()), len(gap))
            with np.errstate(over="ignore"):
                self._tokens["optim/kl_ref_k3"].add(float((np.expm1(-gap) + gap).sum()), len(gap))

    def _add_kl(self, sampled: Floats, trainer: Floats) -> None:
        gap = _finite(sampled - trainer)
        self._tokens["optim/kl_sample_train_v1"].add(float(gap.sum()), len(gap))
        self._tokens["optim/kl_sample_train_v2"].add(float((gap * gap).sum()) / 2, len(gap))

    def metrics(self) -> dict[str, float]:
        """Everything that follows, by name."""
        envs = [name for name in self._means if name != "all"]
        shown = ["all", *envs] if len(envs) > 1 else ["all"]
        found = {}
        for env in shown if "all" in self._means else []:
            for name, mean in self._means[env].items():
                if mean.count:
                    found[f"env/{env}/{name}"] = mean.sum if name == "total_episodes" else mean.sum / mean.count
            groups = [rewards for (name, _), rewards in self._rewards.items() if name == env]
            found |= {f"env/{env}/by_group/{name}": share for name, share in self._shares(groups).items()}
        return found | {name: mean.sum / mean.count for name, mean in self._tokens.items() if mean.count}

    def _shares(self, groups: Sequence[Sequence[float]]) -> dict[str, float]:
        several = [rewards for rewards in groups if len(rewards) > 1]
        if not several:
            return {}
        good = sum(min(rewards) >= self._good for rewards in several)
        bad = sum(max(rewards) <= self._bad for rewards in several)
        mixed = sum(min(rewards) < max(rewards) for rewards in several)
        counted = {"frac_mixed": mixed, "frac_all_good": good, "frac_all_bad": bad}
        return {name: count / len(several) for name, count in counted.items()}


def _masked(values: Array | None, mask: Array | None) -> Floats | None:
    if values is None:
        return None
    found = values.astype(np.float64)
    return _finite(found[mask > 0] if mask is not None and len(mask) == len(found) else found)


def _finite(values: Floats) -> Floats:
    kept: Floats = values[np.isfinite(values)]
    return kept
