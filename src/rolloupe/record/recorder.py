"""`Recorder`: what a training loop calls.

Calls return at once: arrays are copied, texts are kept, and a thread writes them. Nothing that goes wrong while
recording reaches the training loop (unless `strict`): it is reported once and counted.
"""

import atexit
import functools
import operator
import os
import secrets
import threading
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, SupportsIndex, TypeAlias, TypeVar, cast

from rolloupe.model import Checkpoint
from rolloupe.record.arrays import Array, number, numbers, weight
from rolloupe.record.background import Background, Item
from rolloupe.record.derived import StepSums
from rolloupe.record.folder import CHECKPOINTS, Folder
from rolloupe.record.samples import counts_of, series_of
from rolloupe.record.trajectories import Decode, samples_of
from rolloupe.record.values import jsonable, scalar

CAPACITY_BYTES = 512 * 2**20
"""So much may wait to be written before token series are let go."""

MAX_STEPS_HELD = 64
"""Sums of so many steps are held until `step_end`; of older ones nothing is added to the metrics."""

P = ParamSpec("P")
R = TypeVar("R")
Method: TypeAlias = Callable[Concatenate["Recorder", P], R]


class RecorderWarning(UserWarning):
    """Something was not recorded; training goes on."""


def _guarded(
    default: R,
) -> Callable[[Callable[Concatenate["Recorder", P], R]], Callable[Concatenate["Recorder", P], R]]:
    """Have a method of the recorder raise nothing, unless it is strict: what went wrong is reported and counted."""

    def wrap(method: Method[P, R]) -> Method[P, R]:
        @functools.wraps(method)
        def call(self: "Recorder", *args: P.args, **kwargs: P.kwargs) -> R:
            try:
                self._ready()
                return method(self, *args, **kwargs)
            except Exception as error:
                if self._strict:
                    raise
                self._report(error, 1)
                return default

        return cast("Method[P, R]", call)

    return wrap


class Recorder:
    """Records one run into a folder, in the native layout (docs/native-format.md).

    Args:
        path: the folder of the run; one that holds a run already is gone on with.
        config: the configuration, anything: what is no JSON becomes its qualified name or its fields.
        reward_range: the lowest and the highest reward there can be.
        metric_ranges: sample metrics with their worst and best value, `{"format": (0, 1), "length": (4000, 0)}`.
        producer: a name for this process; by default `rank{RANK}`.
        on_full: `"drop"` lets the oldest token series go when writing does not keep up, `"block"` waits.
        strict: raise what goes wrong instead of reporting it.
        code: a folder in the repository of the code, whose state is kept; None for none.
        capacity_bytes: so much may wait to be written.

    Raises `UnreadablePath` where nothing can be recorded at `path`; later calls raise nothing unless `strict`.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        config: object = None,
        reward_range: tuple[float, float] | None = None,
        metric_ranges: Mapping[str, tuple[float, float]] | None = None,
        producer: str = "",
        on_full: str = "drop",
        strict: bool = False,
        code: str | os.PathLike[str] | None = ".",
        capacity_bytes: int = CAPACITY_BYTES,
    ) -> None:
        if on_full not in ("drop", "block"):
            raise ValueError(f"on_full is 'drop' or 'block', not {on_full!r}")
        self._folder = Folder(path)
        self._range = reward_range
        self._wanted = producer or f"rank{os.environ.get('RANK', '0')}"
        self._capacity, self._block, self._strict = capacity_bytes, on_full == "block", strict
        self._lock = threading.RLock()
        self._failures: Counter[str] = Counter()
        self._raised: Exception | None = None
        self._closed = False
        self._folder.make({"reward_range": reward_range, "metric_ranges": dict(metric_ranges or {}) or None})
        self._begin()
        self._keep(lambda: self._folder.attempt(self.producer))
        if config is not None:
            self._keep(lambda: self._folder.config(config))
        if code is not None:
            self._keep(lambda: self._folder.code(code))
        atexit.register(self.close)

    def _begin(self) -> None:
        """Take a name that no living process has, and start from nothing in this process."""
        self._pid = os.getpid()
        for number_ in range(1, 10_000):
            self.producer = self._wanted if number_ == 1 else f"{self._wanted}-{number_}"
            self._background = Background(
                self._folder.path,
                self.producer,
                capacity_bytes=self._capacity,
                block=self._block,
                seen=self._seen,
                trouble=self._trouble,
            )
            try:
                if self._background.claim():
                    break
            except OSError as error:
                self._report(error, 0)
                break
        self._counts: Counter[tuple[str, int, str]] = Counter()
        self._sums: dict[int, StepSums] = {}
        self._steps_of: dict[str, int] = {}
        self._logged: dict[int, set[str]] = {}
        self._began_s = time.monotonic()

    @property
    def path(self) -> str:
        """The folder of the run."""
        return str(self._folder.path)

    @property
    def failures(self) -> dict[str, int]:
        """What could not be recorded: by reason, how many calls or lines; and how many token series were let go."""
        dropped = self._background.dropped
        return dict(self._failures) | ({"token series dropped": dropped} if dropped else {})

    @_guarded("")
    def sample(
        self,
        *,
        step: SupportsIndex,
        prompt: Any = None,
        response: Any = None,
        group: object = None,
        index: object = None,
        split: str = "train",
        reward: object = None,
        advantage: object = None,
        status: str = "",
        discarded: str = "",
        label: object = None,
        env: str = "",
        uid: str = "",
        metrics: Mapping[str, object] | None = None,
        tags: Mapping[str, object] | None = None,
        turns: int | None = None,
        prompt_tokens: int | None = None,
        response_tokens: int | None = None,
        tokens: Sequence[str] | None = None,
        token_ids: Any = None,
        series: Mapping[str, Any] | None = None,
        ref_response: Any = None,
        ref_reward: object = None,
        extra: Mapping[str, object] | None = None,
    ) -> str:
        """Record a sample; returns its uid, by which annotations are joined.

        `prompt` and `response` are texts or lists of chat messages. `group` is what the samples of one prompt share,
        `index` what tells them apart (counted where not given), `split` is `train` or `eval/NAME`; `discarded` says
        why the sample is not trained on. `tokens` are the response's tokens as texts; `token_ids`, shape (T,), those
        of prompt and response, or of the response alone. `series` has numbers a token by name, each for all of
        `token_ids` or for the last of them, the response: `logprobs` (at sampling), `trainer_logprobs`,
        `ref_logprobs`, `entropy`, `advantages`, `loss_mask`, ... Counts of tokens follow from the arrays where they
        are not given.
        """
        arrays = series_of(token_ids, series)
        counts = counts_of(arrays, prompt_tokens, response_tokens, tokens)
        uid = uid or secrets.token_hex(8)
        name = str(scalar(group)) if group is not None else ""
        record: dict[str, Any] = {"uid": uid, "split": split, "step": operator.index(step), "group": name}
        record |= {
            "index": self._index(split, record["step"], name, index), "reward": number(reward),
            "advantage": number(advantage), "status": status, "discarded": discarded, "env": env,
            "label": None if label is None else str(jsonable(label)), "turns": turns, **counts,
            "metrics": numbers(metrics), "tags": {str(k): str(scalar(v)) for k, v in (tags or {}).items()},
            "prompt": jsonable(prompt), "response": jsonable(response), "ref_response": jsonable(ref_response),
            "ref_reward": number(ref_reward), "tokens": None if tokens is None else [str(one) for one in tokens],
            "extra": jsonable(extra),
        }  # fmt: skip
        if not name:
            del record["group"]  # the reader takes a hash of the prompt
        record = {key: value for key, value in record.items() if value not in (None, "", {})}
        self._put("samples", record, arrays)
        if split == "train":
            self._steps_of[uid] = record["step"]
        return uid

    def group(
        self, trajectory_group: Any, *, step: SupportsIndex, group: object, decode: Decode | None = None, **sample: Any
    ) -> list[str]:
        """Record a group of trajectories as trainers hold them; returns the uids of its samples.

        `trajectory_group` has `trajectories_G`, `final_rewards_G` and `metrics_G`, as objects or as a dict; `decode`
        makes text of token ids. Takes what `sample` takes, for all of them.
        """
        try:
            found = list(samples_of(trajectory_group, decode))
        except Exception as error:
            if self._strict:
                raise
            self._report(error, 1)
            return []
        return [self.sample(step=step, group=group, **{**one, **sample}) for one in found]

    @_guarded(None)
    def metrics(self, step: SupportsIndex | None, values: Mapping[str, object]) -> None:
        """Record the trainer's metrics of a step; later values of one name count. None: of no step."""
        found = numbers(values)
        if step is not None:
            self._logged.setdefault(operator.index(step), set()).update(found)
        self._put(
            "metrics",
            {"step": None if step is None else operator.index(step), "time": time.time(), "values": found},
            {},
        )

    @_guarded(None)
    def annotate(
        self,
        uid: str,
        *,
        advantage: object = None,
        discarded: str | None = None,
        metrics: Mapping[str, object] | None = None,
        tags: Mapping[str, object] | None = None,
        series: Mapping[str, Any] | None = None,
    ) -> None:
        """Record what was learned of a sample after it was; of what is said twice the newest counts.

        `discarded=""` takes a discard back. A `series` is for the response, or for all tokens of the sample.
        """
        arrays = series_of(None, series)
        record = {
            "uid": uid, "advantage": number(advantage), "discarded": discarded, "metrics": numbers(metrics),
            "tags": {str(k): str(scalar(v)) for k, v in (tags or {}).items()},
        }  # fmt: skip
        self._put("annotations", {k: v for k, v in record.items() if v is not None and v != {}}, arrays)

    def discard(self, uid: str, reason: str) -> None:
        """Record that a sample is not trained on, and why: `zero_advantage`, `stale`, `filtered`, ..."""
        self.annotate(uid, discarded=reason)

    def error(self, *, step: SupportsIndex, error: BaseException | str, **sample: Any) -> str:
        """Record a rollout that failed, as a sample with the status `error`; takes what `sample` takes."""
        told = error if isinstance(error, str) else "".join(traceback.format_exception(error))
        kind = "error" if isinstance(error, str) else type(error).__qualname__
        extra = {**(sample.pop("extra", None) or {}), "error": told}
        tags = {**(sample.pop("tags", None) or {}), "error": kind}
        sample = {"status": "error", "discarded": "error", **sample}
        return self.sample(step=step, extra=extra, tags=tags, **sample)

    @_guarded(None)
    def checkpoint(
        self,
        name: str,
        *,
        step: SupportsIndex,
        paths: Mapping[str, object] | None = None,
        loop_state: Mapping[str, object] | None = None,
    ) -> None:
        """Record that a state of training was saved, and where; it stands when this returns."""
        self._background.flush()
        record = {
            "name": name, "step": operator.index(step),
            "paths": {str(k): str(v) for k, v in (paths or {}).items()},
            "loop_state": jsonable(loop_state or {}), "time": time.time(),
        }  # fmt: skip
        self._folder.append(CHECKPOINTS, record)

    def last_checkpoint(self) -> Checkpoint | None:
        """Return the checkpoint that was recorded last: its `extra` is the loop state."""
        return self._folder.last_checkpoint()

    @_guarded(None)
    def step_end(self, step: SupportsIndex) -> None:
        """End a step: add the metrics that follow from its samples, and wait until all of it is written."""
        step = operator.index(step)
        self._background.flush()
        derived: dict[str, float] = {"progress/batch": float(step), "time/total": time.monotonic() - self._began_s}
        self._began_s = time.monotonic()
        if (sums := self._sums.pop(step, None)) is not None:
            derived |= sums.metrics()
        if self._background.dropped:
            derived["recorder/token_series_dropped"] = float(self._background.dropped)
        self._steps_of = {uid: held for uid, held in self._steps_of.items() if held > step}
        logged = self._logged.pop(step, set())
        self.metrics(step, {name: value for name, value in derived.items() if name not in logged})
        self.flush()

    @_guarded(None)
    def flush(self) -> None:
        """Wait until everything recorded so far is written: it survives the death of the process then."""
        self._background.flush()
        if self._strict and self._raised is not None:
            error, self._raised = self._raised, None
            raise error

    def close(self) -> None:
        """Write what waits, and end."""
        if self._closed or self._pid != os.getpid():
            return
        self._closed = True
        atexit.unregister(self.close)
        self._background.close()
        if self._strict and self._raised is not None:
            raise self._raised

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ready(self) -> None:
        """A process that was forked off writes files of its own."""
        if self._closed:
            raise RuntimeError("the recorder is closed")
        if self._pid != os.getpid():
            with self._lock:
                if self._pid != os.getpid():
                    self._begin()

    def _put(self, kind: str, record: dict[str, Any], arrays: Mapping[str, Array]) -> None:
        self._background.put(Item(kind, record, arrays, weight(record)))

    def _index(self, split: str, step: int, group: str, index: object) -> str:
        if index is not None:
            return str(scalar(index))
        with self._lock:
            counted = self._counts[split, step, group]
            self._counts[split, step, group] += 1
        return str(counted) if self.producer == "rank0" else f"{self.producer}-{counted}"

    def _sums_of(self, step: int) -> StepSums:
        with self._lock:
            if step not in self._sums:
                bad, good = self._range or (0.0, 1.0)
                self._sums[step] = StepSums(good, bad)
                while len(self._sums) > MAX_STEPS_HELD:
                    del self._sums[min(self._sums)]
            return self._sums[step]

    def _keep(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:
            if self._strict:
                raise
            self._report(error, 0)

    def _seen(self, item: Item) -> None:
        """Add what follows from a line to the sums of its step; called by the thread that writes."""
        record = item.record
        step = self._steps_of.get(record.get("uid", ""))
        if step is None:
            return
        if item.kind == "samples":
            self._sums_of(step).add(record, item.series)
        else:
            self._sums_of(step).annotate(record["uid"], item.series)

    def _trouble(self, error: Exception, lines: int) -> None:
        """Called by the thread that writes."""
        self._raised = self._raised or error
        self._report(error, lines)

    def _report(self, error: Exception, count: int) -> None:
        reason = f"{type(error).__name__}: {error}"
        is_new = reason not in self._failures
        self._failures[reason] += max(1, count)
        if is_new and len(self._failures) < 100:
            warnings.warn(f"not everything is recorded: {reason}", RecorderWarning, stacklevel=4)
