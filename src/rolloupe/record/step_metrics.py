"""Step metrics derived from samples: means, shares of groups and divergences, under the field's usual names.

All are sums and counts, so that those of several processes add up to the run's. Values that are not finite are left
out. Token means divide sums over tokens by the number of tokens; they are never means of means.
"""

import math
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from rolloupe import tokens
from rolloupe.record.values.arrays import Array

USED = ("logprobs", "trainer_logprobs", "ref_logprobs", "entropy", *tokens.MASKS)
"""The series used to derive metrics."""

HELD_BYTES = 256 * 2**20
"""Memory for the series of a step until it ends; beyond it, no divergence is computed."""

MAX_METRICS = 4096
"""Sample metrics that get a mean."""

OWN = ("total_episodes", "reward/total", "turns_per_episode", "ac_tokens_per_turn", "ob_tokens_per_turn")
"""Metrics derived from the samples themselves: a sample metric of the same name does not count."""

Sums = dict[str, list[float]]
"""By name, a sum and the number of its values; 0 for a total."""


class StepSums:
    """The sums of one step of training."""

    def __init__(self, low: float, high: float) -> None:
        self._middle = (low + high) / 2
        self._sums: dict[str, Sums] = defaultdict(lambda: defaultdict(lambda: [0.0, 0]))
        """By environment, and `all` for every sample."""
        self._rewards: dict[tuple[str, str], list[float]] = defaultdict(list)
        """By environment and group."""
        self._series: dict[str, dict[str, Array]] = {}
        """By uid, the newest series of each name."""
        self._held_bytes = 0
        self._tokens: Sums = defaultdict(lambda: [0.0, 0])

    def add(self, record: Mapping[str, Any], series: Mapping[str, Array]) -> None:
        """Add a sample by its record, and those of its series that the queue kept."""
        reward, turns = record.get("reward"), int(record.get("turns", 1))
        for env in {"all", record.get("env", "")} - {""}:
            sums = self._sums[env]
            sums["total_episodes"][0] += 1
            _add(sums["reward/total"], reward)
            _add(sums["turns_per_episode"], turns)
            _add(sums["ac_tokens_per_turn"], record.get("response_tokens"), turns)
            _add(sums["ob_tokens_per_turn"], record.get("prompt_tokens"), turns)
            for metric, value in record.get("metrics", {}).items():
                if metric not in OWN and (metric in sums or len(sums) < MAX_METRICS):
                    _add(sums[metric], value)
            if reward is not None and math.isfinite(reward):
                self._rewards[env, record["group"]].append(reward)
        self.annotate(record["uid"], series)

    def annotate(self, uid: str, series: Mapping[str, Array]) -> None:
        """Add later series of a sample in this step; they replace earlier ones of the same name."""
        used = {name: series[name] for name in USED if name in series}
        size = sum(values.nbytes for values in used.values())
        if used and self._held_bytes + size <= HELD_BYTES:
            self._held_bytes += size
            self._series.setdefault(uid, {}).update(used)

    def settle(self) -> None:
        """Add the series to the sums and release them; later annotations do not count."""
        for series in self._series.values():
            for name, values in _tokens(series).items():
                self._tokens[name][0] += float(values.sum())
                self._tokens[name][1] += len(values)
        self._series.clear()
        self._held_bytes = HELD_BYTES  # hold no more

    def sums(self) -> Sums:
        """Return every derived metric, by name."""
        found: Sums = {}
        envs = [env for env in self._sums if env != "all"]
        for env in ["all", *envs] if len(envs) > 1 else ["all"]:
            of_env = {name: pair for name, pair in self._sums[env].items() if pair[1] or name == "total_episodes"}
            found |= {f"env/{env}/{name}": pair for name, pair in (of_env | self._shares(env)).items()}
        self.settle()
        found |= {f"optim/{name}": pair for name, pair in self._tokens.items()}
        return {name: pair for name, pair in found.items() if pair[1] or name.endswith("total_episodes")}

    def _shares(self, env: str) -> Sums:
        """Shares of groups: mixed if their rewards differ; else good or bad, by the middle of the reward range."""
        groups = [rewards for (group_env, _), rewards in self._rewards.items() if group_env == env]
        mixed = sum(min(rewards) < max(rewards) for rewards in groups)
        good = sum(min(rewards) == max(rewards) > self._middle for rewards in groups)
        counted = {"frac_mixed": mixed, "frac_all_good": good, "frac_all_bad": len(groups) - mixed - good}
        return {f"by_group/{name}": [float(count), len(groups)] for name, count in counted.items() if groups}


def _add(pair: list[float], value: float | None, count: int = 1) -> None:
    if value is not None and count > 0 and math.isfinite(value):
        pair[0] += value
        pair[1] += count


def _tokens(series: Mapping[str, Array]) -> dict[str, tokens.Floats]:
    """Return, by name, one value for each sampled token that has one."""
    mask = tokens.mask_of(series)
    by_name = {name: tokens.under_mask(values, mask) for name, values in series.items() if name not in tokens.MASKS}
    found = {"entropy": by_name["entropy"]} if "entropy" in by_name else {}
    sampled = by_name.get("logprobs")
    trained = by_name.get("trainer_logprobs")
    if sampled is not None and trained is not None:
        gap = tokens.log_ratio(*tokens.same_end(sampled, trained))
        found |= {"kl_sample_train_v1": gap, "kl_sample_train_v2": tokens.kl_k2(gap)}
    policy = sampled if trained is None else trained
    if policy is not None and (reference := by_name.get("ref_logprobs")) is not None:
        gap = tokens.log_ratio(*tokens.same_end(policy, reference))
        found |= {"kl_ref_k1": gap, "kl_ref_k3": tokens.kl_k3(gap)}
    return {name: tokens.finite(values) for name, values in found.items()}
