"""What a recorder remembers of open steps: the identity of samples, and the metrics derived from them.

Memory is bounded: if a training loop never ends a step, or records a million samples in one, the oldest lose their
derived metrics, but every line is still written.
"""

import threading
from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from rolloupe.record.background import QueuedLine
from rolloupe.record.step_metrics import StepSums, Sums

MAX_STEPS = 64
"""How many steps keep sums until `step_end`; older ones get no derived metrics."""

STEPS_WITH_SERIES = 4
"""How many steps keep their token series for annotations."""

MAX_SAMPLES = 200_000
"""How many uids, and how many groups, are remembered."""

Key = tuple[int, str]
"""Step and split."""


class OpenSample(NamedTuple):
    """A sample that this process has recorded."""

    key: Key
    lengths: frozenset[int]
    """Valid lengths of its token series: of all tokens, or of the response. Empty if unknown."""


class OpenSteps:
    """The open steps of one recorder; any thread may call it."""

    def __init__(self, reward_range: tuple[float, float] | None) -> None:
        low, high = reward_range or (0.0, 1.0)
        self._range = float(low), float(high)
        self._lock = threading.RLock()
        self._samples: OrderedDict[str, OpenSample] = OrderedDict()
        self._places: OrderedDict[tuple[int, str, str, str], None] = OrderedDict()
        self._counts: Counter[tuple[str, int, str]] = Counter()
        self._sums: dict[Key, StepSums] = {}
        self._logged: dict[int, set[str]] = {}

    def add(self, uid: str, sample: OpenSample, group: str, index: str) -> str:
        """Remember a sample. Returns what it shares with another sample of an open step: `uid`, `place` or nothing."""
        place = (*sample.key, group, index)
        with self._lock:
            twice = "uid" if uid and uid in self._samples else "place" if place in self._places else ""
            self._places[place] = None
            while len(self._places) > MAX_SAMPLES:
                self._places.popitem(last=False)
            if uid:
                self._samples[uid] = sample
            while len(self._samples) > MAX_SAMPLES:
                self._samples.popitem(last=False)
        return twice

    def lengths_of(self, uid: str) -> frozenset[int]:
        """Return the valid lengths of a sample's series; empty if unknown."""
        with self._lock:
            return self._samples[uid].lengths if uid in self._samples else frozenset()

    def index(self, split: str, step: int, group: str) -> int:
        """Return the next index of a sample in its group."""
        with self._lock:
            counted = self._counts[split, step, group]
            self._counts[split, step, group] += 1
            if len(self._counts) > MAX_SAMPLES:
                for old in list(self._counts)[: MAX_SAMPLES // 10]:
                    del self._counts[old]
        return counted

    def logged(self, step: int, names: Iterable[str]) -> None:
        """Remember which metrics of a step the trainer logged itself."""
        with self._lock:
            self._logged.setdefault(step, set()).update(names)
            while len(self._logged) > MAX_STEPS:
                del self._logged[next(iter(self._logged))]

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
            ended = {key: self._sums.pop(key) for key in [key for key in self._sums if key[0] == step]}
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
        unlogged: dict[str, Any] = {one: value for one, value in values.items() if one not in logged}
        return unlogged, {one: pair for one, pair in sums.items() if one not in logged}
