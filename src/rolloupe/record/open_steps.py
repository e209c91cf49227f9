"""The open steps of a recorder: the identity of their samples, and the metrics derived from the samples.

The metrics are means, shares of groups and divergences, under their usual names. All are sums and counts, so the
sums of several processes add up to the run's. Token means divide sums over tokens by the number of tokens; they are
never means of means. Values that are not finite are left out.

Memory is bounded: if a training loop never ends a step, or records a million samples in one, the oldest samples lose
their derived metrics, but every line is still written.
"""

import math
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from rolloupe import tokens
from rolloupe.record.background import QueuedLine
from rolloupe.record.token_series import Array

USED = ("logprobs", "trainer_logprobs", "ref_logprobs", "entropy", *tokens.MASKS)

HELD_BYTES = 256 * 2**20
"""Memory for the series of a step; divergences leave out series beyond it."""

MAX_METRICS = 4096

OWN = ("total_episodes", "reward/total", "turns_per_episode", "ac_tokens_per_turn", "ob_tokens_per_turn")
"""Metrics derived from the samples themselves; a sample metric of the same name does not count."""

Sums = dict[str, list[float]]
"""For each name, a sum and the number of its values, which is 0 for a total."""


class StepSums:
    """The sums of one step of training."""

    def __init__(self, low: float, high: float) -> None:
        self._middle = (low + high) / 2
        self._sums: dict[str, Sums] = defaultdict(lambda: defaultdict(lambda: [0.0, 0]))
        """The sums by environment, and `all` for every sample."""
        self._rewards: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        """The rewards by environment and group."""
        self._series: dict[str, dict[str, Array]] = {}
        """The newest series of each name by uid."""
        self._held_bytes = 0
        self._tokens: Sums = defaultdict(lambda: [0.0, 0])

    def add(self, record: Mapping[str, Any], series: Mapping[str, Array]) -> None:
        """Add a sample: its record, and the series that the queue kept."""
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
                self._rewards[env][record["group"]].append(reward)
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
        sums: Sums = {}
        envs = [env for env in self._sums if env != "all"]
        for env in ["all", *envs] if len(envs) > 1 else ["all"]:
            of_env = {name: pair for name, pair in self._sums[env].items() if pair[1] or name == "total_episodes"}
            sums |= {f"env/{env}/{name}": pair for name, pair in of_env.items()}
            # a group is mixed if its rewards differ; else good or bad, by the middle of the reward range
            groups = self._rewards[env].values()
            mixed = sum(min(rewards) < max(rewards) for rewards in groups)
            good = sum(min(rewards) == max(rewards) > self._middle for rewards in groups)
            counts = {"mixed": mixed, "all_good": good, "all_bad": len(groups) - mixed - good} if groups else {}
            for name, count in counts.items():
                sums[f"env/{env}/by_group/frac_{name}"] = [float(count), len(groups)]
        self.settle()
        sums |= {f"optim/{name}": pair for name, pair in self._tokens.items()}
        return {name: pair for name, pair in sums.items() if pair[1] or name.endswith("total_episodes")}


def _add(pair: list[float], value: float | None, count: int = 1) -> None:
    if value is not None and count > 0 and math.isfinite(value):
        pair[0] += value
        pair[1] += count


def _tokens(series: Mapping[str, Array]) -> dict[str, tokens.Floats]:
    """Return, by name, one value for each sampled token that has one."""
    mask = tokens.mask_of(series)
    by_name = {name: tokens.under_mask(values, mask) for name, values in series.items() if name not in tokens.MASKS}
    derived = {"entropy": by_name["entropy"]} if "entropy" in by_name else {}
    sampled, trained = by_name.get("logprobs"), by_name.get("trainer_logprobs")
    if sampled is not None and trained is not None:
        gap = tokens.log_ratio(*tokens.same_end(sampled, trained))
        derived |= {"kl_sample_train_v1": gap, "kl_sample_train_v2": tokens.kl_k2(gap)}
    policy = sampled if trained is None else trained
    if policy is not None and (reference := by_name.get("ref_logprobs")) is not None:
        gap = tokens.log_ratio(*tokens.same_end(policy, reference))
        derived |= {"kl_ref_k1": gap, "kl_ref_k3": tokens.kl_k3(gap)}
    return {name: tokens.finite(values) for name, values in derived.items()}


MAX_STEPS = 64
"""How many steps keep sums until `step_end`; older ones get no derived metrics."""

STEPS_WITH_SERIES = 4

MAX_SAMPLES = 200_000
"""How many uids, places and groups are remembered."""

Key = tuple[int, str]
"""Step and split."""


class OpenSample(NamedTuple):
    """A sample that this process has recorded."""

    key: Key
    lengths: frozenset[int]
    """Valid lengths of its token series: of all tokens, or of the response. Empty if unknown."""


def _forget(known: OrderedDict[Any, Any], most: int) -> None:
    """Remove the oldest entries."""
    while len(known) > most:
        known.popitem(last=False)


class OpenSteps:
    """The open steps of one recorder; any thread may call it."""

    def __init__(self, reward_range: tuple[float, float] | None) -> None:
        low, high = reward_range or (0.0, 1.0)
        self._range = float(low), float(high)
        self._lock = threading.RLock()
        self._samples: OrderedDict[str, OpenSample] = OrderedDict()
        self._places: OrderedDict[tuple[int, str, str, str], None] = OrderedDict()
        self._counts: OrderedDict[tuple[str, int, str], int] = OrderedDict()
        self._sums: dict[Key, StepSums] = {}
        self._logged: OrderedDict[int, set[str]] = OrderedDict()

    def add(self, uid: str, sample: OpenSample, group: str, index: str) -> str:
        """Remember a sample. Returns `uid` or `place` if another sample of an open step has the same, else nothing."""
        place = (*sample.key, group, index)
        with self._lock:
            twice = "uid" if uid and uid in self._samples else "place" if place in self._places else ""
            self._places[place] = None
            if uid:
                self._samples[uid] = sample
            _forget(self._places, MAX_SAMPLES)
            _forget(self._samples, MAX_SAMPLES)
        return twice

    def lengths_of(self, uid: str) -> frozenset[int]:
        """Return the valid lengths of a sample's series; empty if unknown."""
        with self._lock:
            return self._samples[uid].lengths if uid in self._samples else frozenset()

    def index(self, split: str, step: int, group: str) -> int:
        """Return the next free index in a group."""
        with self._lock:
            counted = self._counts.get((split, step, group), 0)
            self._counts[split, step, group] = counted + 1
            _forget(self._counts, MAX_SAMPLES)
        return counted

    def logged(self, step: int, names: Iterable[str]) -> None:
        """Remember which metrics of a step the trainer logged itself."""
        with self._lock:
            self._logged.setdefault(step, set()).update(names)
            _forget(self._logged, MAX_STEPS)

    def seen(self, item: QueuedLine) -> None:
        """Add a line to the sums of its step."""
        with self._lock:
            sample = self._samples.get(item.record.get("uid", ""))
            if sample is None or item.kind == "metrics":
                return
            sums = self._sums.get(sample.key)
            if sums is None:
                sums = self._sums[sample.key] = StepSums(*self._range)
                for old in sorted(self._sums)[:-STEPS_WITH_SERIES]:
                    self._sums[old].settle()
                while len(self._sums) > MAX_STEPS:
                    del self._sums[min(self._sums)]
            if item.kind == "samples":
                sums.add(item.record, item.series)
            else:
                sums.annotate(item.record["uid"], item.series)

    def end(self, step: int, values: Mapping[str, float]) -> tuple[dict[str, float], Sums]:
        """End a step: return `values` and the derived metrics, without those that the trainer logged itself."""
        with self._lock:
            ended = {key: self._sums.pop(key) for key in list(self._sums) if key[0] == step}
            for uid in [uid for uid, sample in self._samples.items() if sample.key[0] <= step]:
                del self._samples[uid]
            for place in [place for place in self._places if place[0] <= step]:
                del self._places[place]
            logged = set(self._logged.get(step, ()))
        sums = {
            name if split == "train" else f"{split}/{name}": pair
            for (_, split), of_step in ended.items()
            for name, pair in of_step.sums().items()
        }
        unlogged = {metric: value for metric, value in values.items() if metric not in logged}
        return unlogged, {metric: pair for metric, pair in sums.items() if metric not in logged}
