"""`Recorder`: what a training loop calls.

Calls return at once: arrays are copied, texts are kept, and a thread writes them. Nothing that goes wrong while
recording reaches the training loop (unless `strict`): it is told once and counted.
"""

import atexit
import functools
import os
import re
import secrets
import threading
import time
import traceback
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from multiprocessing.util import Finalize
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, SupportsIndex, TypeAlias, TypeVar, cast

from rolloupe import text
from rolloupe.model import Checkpoint, Sample
from rolloupe.record.arrays import weight
from rolloupe.record.background import Background, Item
from rolloupe.record.derived import StepSums
from rolloupe.record.folder import CHECKPOINTS, Folder
from rolloupe.record.given import Given, count, messages, name, number, turns_in, word
from rolloupe.record.of_model import given_of
from rolloupe.record.samples import counts_of
from rolloupe.record.trajectories import Decode, samples_of
from rolloupe.record.trouble import RecorderWarning, Trouble
from rolloupe.record.values import jsonable

__all__ = ["Recorder", "RecorderWarning"]

CAPACITY_BYTES = 512 * 2**20
"""So much may wait to be written before token series are let go."""

MAX_STEPS_HELD = 64
"""Sums of so many steps are held until `step_end`; of older ones nothing is added to the metrics."""

STEPS_WITH_SERIES = 4
"""Token series that may yet be annotated are held for so many steps."""

P = ParamSpec("P")
R = TypeVar("R")
Method: TypeAlias = Callable[Concatenate["Recorder", P], R]

_alive: "weakref.WeakValueDictionary[tuple[str, str], Recorder]" = weakref.WeakValueDictionary()
"""The recorders of this process, by folder and name: another one of the same takes the place of the former."""


def _guarded(default: Callable[[], R]) -> Callable[[Method[P, R]], Method[P, R]]:
    """Have a method raise nothing, unless the recorder is strict or the call itself does not fit its signature."""

    def wrap(method: Method[P, R]) -> Method[P, R]:
        @functools.wraps(method)
        def call(self: "Recorder", *args: P.args, **kwargs: P.kwargs) -> R:
            try:
                self._ready()
                return method(self, *args, **kwargs)
            except Exception as error:
                where = error.__traceback__.tb_next if error.__traceback__ else None
                if isinstance(error, TypeError) and where is None:
                    raise  # a wrong name of an argument is a bug of the first minute
                self._trouble.met(error)
                return default()
            finally:
                self._trouble.tell()

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
        strict: raise what goes wrong instead of telling it.
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
        self._ranges = {"reward_range": _range(reward_range), "metric_ranges": dict(metric_ranges or {}) or None}
        self._wanted = _file_name(producer or f"rank{os.environ.get('RANK', '0')}")
        self._capacity, self._block = capacity_bytes, on_full == "block"
        self._trouble = Trouble(strict=strict)
        self._given = Given(self._trouble)
        self._lock = threading.RLock()
        self._closed = False
        former = _alive.get((self.path, self._wanted))
        if former is not None:  # a cell of a notebook that was run again
            former.close()
        self._folder.make(self._ranges)
        self._begin()
        _alive[self.path, self._wanted] = self
        self._keep(lambda: self._folder.attempt(self.producer))
        if config is not None:
            self._keep(lambda: self._folder.config(config))
        if code is not None:
            self._keep(lambda: self._folder.code(code))
        self._trouble.tell()

    def _begin(self) -> None:
        """Take a name that no living process has, and start from nothing in this process."""
        self._pid = os.getpid()
        for nth in range(1, 10_000):
            self.producer = self._wanted if nth == 1 else f"{self._wanted}-{nth}"
            self._background = Background(
                self._folder.path, self.producer, capacity_bytes=self._capacity, block=self._block, seen=self._seen,
                trouble=self._trouble,
            )  # fmt: skip
            try:
                if self._background.claim():
                    break
            except OSError as error:
                self._trouble.met(error)
                break
        self._counts: Counter[tuple[str, int, str]] = Counter()
        self._sums: dict[tuple[int, str], StepSums] = {}
        self._steps_of: dict[str, tuple[int, str]] = {}
        self._logged: dict[int, set[str]] = {}
        self._vanished = 0
        self._began_s = time.monotonic()
        atexit.register(self.close)
        Finalize(None, self.close, exitpriority=10)  # processes of multiprocessing end without atexit

    @property
    def path(self) -> str:
        """The folder of the run."""
        return str(self._folder.path)

    @property
    def failures(self) -> dict[str, int]:
        """What could not be recorded: by reason, how many values or lines; and how many token series were let go."""
        dropped = self._background.dropped
        return dict(self._trouble.counts) | ({"token series dropped": dropped} if dropped else {})

    @_guarded(str)
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
        status: object = "",
        discarded: str = "",
        label: object = None,
        env: object = "",
        uid: object = "",
        metrics: Mapping[str, object] | None = None,
        tags: Mapping[str, object] | None = None,
        turns: SupportsIndex | None = None,
        prompt_tokens: SupportsIndex | None = None,
        response_tokens: SupportsIndex | None = None,
        tokens: Sequence[str] | None = None,
        token_ids: Any = None,
        series: Mapping[str, Any] | None = None,
        ref_response: Any = None,
        ref_reward: object = None,
        extra: Mapping[str, object] | None = None,
    ) -> str:
        """Record a sample; returns its uid, by which annotations are joined.

        `prompt` and `response` are texts or lists of chat messages. `group` is what the samples of one prompt share,
        `index` what tells them apart (counted where not given), `split` is `train` or `eval/NAME` (any other name is
        that of an evaluation); `discarded` says
        why the sample is not trained on. `tokens` are the response's tokens as texts; `token_ids`, shape (T,), those
        of prompt and response, or of the response alone. `series` has numbers a token by name, each for all of
        `token_ids` or for the last of them, the response: `logprobs` (at sampling), `trainer_logprobs`,
        `ref_logprobs`, `entropy`, `advantages`, `loss_mask`, ... Counts of tokens follow from the arrays where they
        are not given. A value that cannot be read is left out, told and counted; the sample stands all the same.
        """
        take = self._given.take
        number_of_step = _step(step)
        arrays = self._given.arrays(token_ids, series)
        pieces = None if tokens is None else take("tokens", lambda held: [word(one) for one in held], tokens)
        told = take("prompt_tokens", count, prompt_tokens), take("response_tokens", count, response_tokens)
        counts = counts_of(arrays, *told, pieces)
        paid, parts, rated = self._given.reward(reward)
        numbers, words = self._given.numbers("metrics", metrics)
        asked, answer = messages(prompt), messages(response)
        split, own = _split(split), name(group) if group is not None else ""
        record: dict[str, Any] = {
            "uid": name(uid) or secrets.token_hex(8), "split": split, "step": number_of_step,
            "group": own or text.digest(text.joined(asked) if isinstance(asked, list) else word(asked)),
        }  # fmt: skip
        record |= {
            "index": self._index(record, index), "reward": paid, "advantage": take("advantage", number, advantage),
            "status": word(status), "discarded": word(discarded), "env": name(env),
            "label": None if label is None else label if isinstance(label, str) else word(jsonable(label)),
            "turns": take("turns", count, turns) or turns_in(answer), **counts, "metrics": parts | numbers,
            "tags": rated | words | self._given.words("tags", tags), "prompt": asked, "response": answer,
            "ref_response": messages(ref_response), "ref_reward": take("ref_reward", number, ref_reward),
            "tokens": pieces, "extra": jsonable(extra),
        }  # fmt: skip
        record = {key: value for key, value in record.items() if value is not None and value not in ("", {})}
        with self._lock:
            self._steps_of[record["uid"]] = number_of_step, split
        self._background.put(Item("samples", record, arrays, weight(record)))
        return str(record["uid"])

    @_guarded(list[str])
    def samples(self, some: Iterable[Mapping[str, Any] | Sample], /, **shared: Any) -> list[str]:
        """Record several samples, each a dict of what `sample` takes or a `Sample`; returns their uids."""
        found = [given_of(one) if isinstance(one, Sample) else dict(one) for one in some]
        return [self.sample(**{**one, **shared}) for one in found]

    @_guarded(list[str])
    def group(
        self,
        trajectory_group: Any,
        /,
        *,
        step: SupportsIndex,
        group: object,
        decode: Decode | None = None,
        **sample: Any,
    ) -> list[str]:
        """Record a group of trajectories as trainers hold them; returns the uids of its samples.

        `trajectory_group` has `trajectories_G`, `final_rewards_G` and `metrics_G`, as objects or as a dict; `decode`
        makes text of token ids. Takes what `sample` takes, for all of them.
        """
        found = list(samples_of(trajectory_group, decode))
        return [self.sample(step=step, group=group, **{**one, **sample}) for one in found]

    @_guarded(lambda: None)
    def metrics(self, step: SupportsIndex | None, values: Mapping[str, object]) -> None:
        """Record the trainer's metrics of a step; later values of one name count. None: of no step."""
        found, words = self._given.numbers("metric", values)
        for one in words:
            self._trouble.met(TypeError("a number is wanted, not a text"), where=f"metric {one!r}")
        at = count(step)
        if at is not None:
            with self._lock:
                self._logged.setdefault(at, set()).update(found)
        self._put_metrics(at, found, {})

    def _put_metrics(self, step: int | None, values: dict[str, float], sums: dict[str, list[float]]) -> None:
        record = {"step": step, "time": time.time(), "values": values, **({"sums": sums} if sums else {})}
        self._background.put(Item("metrics", record, {}, weight(record)))

    @_guarded(lambda: None)
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
        arrays = self._given.arrays(None, series)
        numbers, words = self._given.numbers("metrics", metrics)
        record = {
            "uid": name(uid), "advantage": self._given.take("advantage", number, advantage),
            "discarded": None if discarded is None else word(discarded), "metrics": numbers,
            "tags": words | self._given.words("tags", tags),
        }  # fmt: skip
        if not record["uid"]:
            raise ValueError("an annotation without a uid belongs to no sample")
        record = {key: value for key, value in record.items() if value is not None and value != {}}
        self._background.put(Item("annotations", record, arrays, weight(record)))

    def discard(self, uid: str, reason: str) -> None:
        """Record that a sample is not trained on, and why: `zero_advantage`, `stale`, `filtered`, ..."""
        self.annotate(uid, discarded=reason)

    @_guarded(str)
    def error(self, /, *, step: SupportsIndex, error: object, **sample: Any) -> str:
        """Record a rollout that failed, as a sample with the status `error`; takes what `sample` takes."""
        told, kind = word(error), "error"
        if isinstance(error, BaseException):
            told, kind = "".join(traceback.format_exception(error)), type(error).__qualname__
        extra = {**(sample.pop("extra", None) or {}), "error": told}
        tags = {**(sample.pop("tags", None) or {}), "error": kind}
        return self.sample(step=step, extra=extra, tags=tags, **{"status": "error", "discarded": "error", **sample})

    @_guarded(lambda: None)
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
            "name": word(name), "step": count(step), "paths": self._given.words("paths", paths),
            "loop_state": jsonable(loop_state or {}), "time": time.time(),
        }  # fmt: skip
        self._folder.append(CHECKPOINTS, record)

    def last_checkpoint(self) -> Checkpoint | None:
        """Return the checkpoint that was recorded last: its `extra` is the loop state."""
        return self._folder.last_checkpoint()

    @_guarded(lambda: None)
    def step_end(self, step: SupportsIndex) -> None:
        """End a step: add the metrics that follow from its samples, and wait until all of it is written."""
        self._background.flush()
        try:
            self._end(_step(step))
        finally:
            self._background.flush()
            self._see_what_vanished()
        self._trouble.raise_met()

    def _end(self, step: int) -> None:
        values = {"progress/batch": float(step), "time/total": time.monotonic() - self._began_s}
        self._began_s = time.monotonic()
        if self._background.dropped:
            values["recorder/token_series_dropped"] = float(self._background.dropped)
        with self._lock:
            ended = {key: self._sums.pop(key) for key in [key for key in self._sums if key[0] == step]}
            self._steps_of = {uid: held for uid, held in self._steps_of.items() if held[0] > step}
            logged = set(self._logged.get(step, ()))
            self._logged = {one: names for one, names in self._logged.items() if one > step - MAX_STEPS_HELD}
        sums = {
            name if split == "train" else f"{split}/{name}": pair
            for (_, split), of_step in ended.items()
            for name, pair in of_step.sums().items()
        }
        self._put_metrics(
            step,
            {one: value for one, value in values.items() if one not in logged},
            {one: pair for one, pair in sums.items() if one not in logged},
        )

    @_guarded(lambda: None)
    def config(self, config: object) -> None:
        """Keep the configuration, where it is known only now; another one than the last is kept beside it."""
        self._folder.config(config)

    @_guarded(lambda: None)
    def safely(self, work: Callable[..., object], /, *arguments: object) -> None:
        """Do what prepares a recording: what it raises is told and counted as the recorder's own failures are."""
        work(*arguments)

    @_guarded(lambda: None)
    def flush(self) -> None:
        """Wait until everything recorded so far is written: it survives the death of the process then."""
        self._background.flush()
        self._see_what_vanished()
        self._trouble.raise_met()

    def close(self) -> None:
        """Write what waits, and end."""
        if self._closed or self._pid != os.getpid():
            return
        self._closed = True
        atexit.unregister(self.close)
        self._keep(self._background.close)
        self._trouble.tell()
        self._trouble.raise_met()

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

    def forked(self) -> None:
        """Called in a process that was forked off: the files are the other's, and no thread holds the lock."""
        self._lock = threading.RLock()
        self._background.abandon()

    def _index(self, record: Mapping[str, Any], index: object) -> str:
        if index is not None:
            return name(index)
        with self._lock:
            place = record["split"], record["step"], record["group"]
            counted = self._counts[place]
            self._counts[place] += 1
        return str(counted) if self.producer == "rank0" else f"{self.producer}-{counted}"

    def _seen(self, item: Item) -> None:
        """Add what follows from a line to the sums of its step; called by the thread that writes."""
        with self._lock:
            key = self._steps_of.get(item.record.get("uid", ""))
            if key is None or item.kind == "metrics":
                return
            sums = self._sums.get(key)
            if sums is None:
                low, high = self._ranges["reward_range"] or (0.0, 1.0)
                sums = self._sums[key] = StepSums(float(low), float(high))
                for old in sorted(self._sums)[:-STEPS_WITH_SERIES]:
                    self._sums[old].settle()
                while len(self._sums) > MAX_STEPS_HELD:
                    del self._sums[min(self._sums)]
            if item.kind == "samples":
                sums.add(item.record, item.series)
            else:
                sums.annotate(item.record["uid"], item.series)

    def _see_what_vanished(self) -> None:
        """Where the folder of the run was removed while it was recorded, make it again, and say so."""
        if self._background.vanished > self._vanished or not self._folder.is_made():
            self._vanished = self._background.vanished
            self._trouble.report("files of the run are gone that were written before: what they held is lost")
            self._keep(lambda: self._folder.make(self._ranges))
            self._keep(lambda: self._folder.attempt(self.producer))

    def _keep(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:
            self._trouble.met(error)


def _step(step: object) -> int:
    """Read a step. Raises `TypeError`, which names it: without a step nothing can be recorded."""
    try:
        found = count(step)
    except Exception:
        found = None
    if found is None:
        raise TypeError(f"step: a whole number is wanted, not {type(step).__name__}; this was not recorded")
    return found


def _split(split: object) -> str:
    """Return the name of a split: what is not training is an evaluation."""
    found = name(split) or "train"
    if found == "train" or found.startswith("eval/"):
        return found
    return "eval/default" if found == "eval" else f"eval/{found}"


def _range(given: object) -> tuple[float, float] | None:
    """Read the lowest and the highest value. Raises `ValueError` for what is no such pair."""
    if given is None:
        return None
    try:
        low, high = (number(one) for one in cast("Sequence[object]", given))
    except (TypeError, ValueError):
        low = high = None
    if low is None or high is None or not low < high:
        raise ValueError(f"reward_range is (lowest, highest), not {given!r}")
    return low, high


def _file_name(producer: object) -> str:
    """A name that a file can have, in the folder where it is looked for."""
    return re.sub(r"[^A-Za-z0-9_.-]", "_", word(producer)).lstrip(".")[:100] or "rank0"


def _after_fork() -> None:
    for recorder in list(_alive.values()):
        recorder.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
