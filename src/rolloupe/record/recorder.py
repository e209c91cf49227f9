"""`Recorder`: the object that a training loop calls.

Calls copy arrays, keep texts and return at once; a thread writes. Failures never reach the training loop unless
`strict`: the recorder warns once of each kind and counts them.
"""

import atexit
import os
import secrets
import threading
import time
import traceback
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from multiprocessing.util import Finalize
from typing import Any, Self, SupportsIndex

from rolloupe import text
from rolloupe.model import Checkpoint, Sample
from rolloupe.record import arguments as read
from rolloupe.record import background, folder, open_steps
from rolloupe.record.arguments import Arguments, Decode, given_of, name, number, samples_of, step_of
from rolloupe.record.failures import RecorderWarning, Trouble, guarded
from rolloupe.record.plain import jsonable, word
from rolloupe.record.token_series import Array, counts_of, lengths_of, uneven, weight
from rolloupe.record.upload import Upload

__all__ = ["Recorder", "RecorderWarning"]

CAPACITY_BYTES = 512 * 2**20
"""How many bytes may wait to be written before token series are dropped."""

MOST_TOLD = 5

UNEVEN = "token series whose length fits neither the sample's tokens nor its response; kept as they are"
GO_ON = "They are written while the process lives, at its end, or by another close()"


class Recorder:
    """Records one run into a folder, in the native layout (docs/native-format.md).

    Args:
        path: the run's folder. If it already holds a run, recording resumes there.
        config: the configuration, any object; values that JSON lacks become their qualified name or their fields.
        reward_range: the lowest and the highest possible reward.
        metric_ranges: sample metrics with their worst and best value, `{"format": (0, 1), "length": (4000, 0)}`.
        producer: a name for this process; by default `rank{RANK}`.
        on_full: what to do if writing falls behind: `"drop"` the oldest token series, or `"block"` the caller.
        strict: raise errors instead of warning.
        code: a folder in your code's repository; the run keeps its commit and local changes. None records no code.
        capacity_bytes: how many bytes may wait to be written.
        upload: an address in an object store (`s3://bucket/runs/first`) or another folder, to which a process of its
            own sends the run's files behind training (docs/recording.md).

    Raises `UnreadablePath` if it cannot record at `path`; later calls raise nothing unless `strict`.
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
        upload: str | os.PathLike[str] | None = None,
    ) -> None:
        if on_full not in ("drop", "block"):
            raise ValueError(f"on_full is 'drop' or 'block', not {on_full!r}")
        self._folder = folder.Folder(path)
        self._reward_range = read.range_of(reward_range)
        self._ranges = {"reward_range": self._reward_range, "metric_ranges": read.metric_ranges_of(metric_ranges)}
        self._wanted = folder.wanted_name(producer)
        self._capacity, self._block = capacity_bytes, on_full == "block"
        self.trouble = Trouble(strict=strict)
        self._lock = threading.Lock()
        self._ending = self._closed = False
        if (former := _alive.get((self.path, self._wanted))) is not None:
            former.close()
        if others := self._folder.others():
            note = f"the folder {self.path} already holds files of {others}: Rolloupe reads them as separate runs"
            self.trouble.say(note)
        self._folder.make(self._ranges)
        self._launch = folder.Launch(self._folder.path)
        self._launched: int | None = None
        self._ranks = folder.ranks(producer)
        self._unkept: Callable[[], None] | None = None
        self._target = None if upload is None else os.fspath(upload)
        self._upload: Upload | None = None
        self._begin()
        _alive[self.path, self._wanted] = self
        self._keep(self._note)
        if config is not None:
            self._keep_config(config)
        if code is not None:
            self._keep(lambda: self._folder.code(folder.code_diff(code)))
        self.trouble.tell()

    def _begin(self) -> None:
        """Take a name that no live process has, and start writing in this process."""
        self._pid = os.getpid()
        self._steps = open_steps.OpenSteps(self._reward_range)
        for producer in folder.names(self._wanted):
            self.producer = producer
            self._background = background.Background(
                self._folder.path, producer, capacity_bytes=self._capacity, block=self._block,
                seen=self._steps.seen, trouble=self.trouble,
            )  # fmt: skip
            try:
                if self._background.claim():
                    break
            except OSError as error:
                self.trouble.met(error)
                break
        self._vanished = self._removed = self._acknowledged = 0
        self._began_s = time.monotonic()
        if self._target is not None:
            self._upload = Upload(self._folder.path, self._target, self.trouble)
        atexit.register(self.close)
        Finalize(None, self.close, exitpriority=10)  # multiprocessing skips atexit

    def _note(self) -> None:
        self._launched = self._folder.attempt(self.producer, self._launch, self._ranks)

    def _keep_config(self, config: object) -> None:
        """Keep the first rank's configuration at once; keep that of another rank, if it differs, when a step ends."""
        if self._ranks is None or self._wanted == "rank0":
            self._keep(lambda: self._folder.config(config))
            return
        settings = self._folder.settings(config)

        def keep() -> None:
            if file := self._folder.config_of(self._wanted, settings):
                self.trouble.say(f"the configuration of {self._wanted} differs from the run's: see {file}")

        self._unkept = keep

    @property
    def path(self) -> str:
        """The folder of the run."""
        return str(self._folder.path)

    @property
    def failures(self) -> dict[str, int]:
        """How many values or lines could not be recorded, by reason, and how many token series were dropped."""
        dropped = self._background.dropped
        return dict(self.trouble.counts) | ({"token series dropped": dropped} if dropped else {})

    @guarded(str, loses="samples")
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
        top_logprobs: Any = None,
        ref_response: Any = None,
        ref_reward: object = None,
        extra: Mapping[str, object] | None = None,
    ) -> str:
        """Record a sample and return its uid, which annotations refer to.

        `prompt` and `response` are texts or lists of chat messages. The samples of one prompt share a `group`, and
        `index` tells them apart (counted by default). `split` is `train` or `eval/NAME` (any other name is an
        evaluation's). `discarded` says why training skipped the sample. `tokens` are the texts of the response's
        tokens; `token_ids`, shape (T,), the ids of prompt and response, or of the response alone. `series` maps names
        to one number for each token, either of `token_ids` or of the response: `logprobs` (at sampling),
        `trainer_logprobs`, `ref_logprobs`, `entropy`, `advantages`, `loss_mask`, `attention_mask`, ... `top_logprobs`
        has, for each token of the response, the alternatives that the model could have sampled: a mapping, or pairs of
        a token (its string or its id) and a logprob, of which the 20 likeliest count. Token counts default to the
        lengths of the arrays. If a value cannot be read, the recorder leaves it out, warns and counts it, and still
        records the sample.
        """
        at, split = step_of(step), read.split_of(split)
        arguments = Arguments(self.trouble, at)
        take, arrays = arguments.take, arguments.arrays(token_ids, series)
        pieces = None if tokens is None else take("tokens", lambda texts: [word(text) for text in texts], tokens)
        of_prompt = take("prompt_tokens", read.count, prompt_tokens)
        of_response = take("response_tokens", read.count, response_tokens)
        counts, own_turns = counts_of(arrays, of_prompt, of_response, pieces), take("turns", read.count, turns)
        paid, parts, rated = arguments.reward(reward)
        numbers, words = arguments.numbers("metrics", metrics)
        question, answer = read.messages(prompt), read.messages(response)
        group_name = name(group) if group is not None else ""
        record: dict[str, Any] = {
            "uid": self._uid(uid), "launch": self._launched, "split": split, "step": at,
            "group": group_name or text.digest(text.joined(question) if isinstance(question, list) else word(question)),
        }  # fmt: skip
        if index is None:
            counted = self._steps.index(split, at, record["group"])
            index = str(counted) if self.producer == "rank0" else f"{self.producer}-{counted}"
        record |= {
            "index": name(index), "reward": paid,
            "advantage": take("advantage", number, advantage), "status": word(status), "discarded": word(discarded),
            "env": name(env), "label": label if label is None or isinstance(label, str) else word(jsonable(label)),
            "turns": read.turns_in(answer) if own_turns is None else own_turns, **counts, "metrics": parts | numbers,
            "tags": rated | words | arguments.words("tags", tags), "prompt": question, "response": answer,
            "ref_response": read.messages(ref_response), "ref_reward": take("ref_reward", number, ref_reward),
            "tokens": pieces, "extra": jsonable(extra),
        }  # fmt: skip
        lengths, is_known = lengths_of(arrays, counts)
        if top_logprobs is not None:
            ids, trouble = arrays.get("token_ids"), self.trouble
            from_given = partial(read.alternatives, ids=ids, strings=pieces, lengths=lengths, trouble=trouble, step=at)
            record["top_logprobs"] = take("top_logprobs", from_given, top_logprobs)
        open_sample = open_steps.OpenSample((at, split), lengths if is_known else frozenset())
        match self._steps.add(record["uid"], open_sample, record["group"], record["index"]):
            case "uid":
                message = f"two samples have the uid {record['uid']!r}: later annotations apply to both"
                self.trouble.say(message, once="uid")
            case "place":
                message = f"two samples are at {_place(record)}: the first becomes an earlier attempt at the second"
                self.trouble.say(message, once="place")
        self._put("samples", record, arrays, lengths)
        return str(record["uid"])

    def _uid(self, uid: object) -> str:
        return name(uid) or secrets.token_hex(8)

    def _put(self, kind: str, record: dict[str, Any], arrays: Mapping[str, Array], lengths: frozenset[int]) -> None:
        odd = record["uneven"] = uneven(arrays, lengths)
        if odd:
            wrong = ", ".join(f"{series[:60]!r} has {len(arrays[series]):,}" for series in odd[:5])
            fits = " or ".join(f"{length:,}" for length in sorted(lengths, reverse=True))
            place = _place(record) or "uid " + record["uid"][:60]
            self.trouble.report(UNEVEN, len(odd), first=f"{wrong} where {fits} fit, of {place}")
        nothing: list[object] = [{}, []] if kind == "annotations" else [{}, [], ""]  # "" withdraws a discard
        line = {key: value for key, value in record.items() if value is not None and value not in nothing}
        self._queue(background.QueuedLine(kind, line, arrays, weight(line)))

    def _queue(self, item: background.QueuedLine) -> None:
        self._background.put(item)

    @guarded(list[str], loses="lists of samples")
    def samples(self, some: Iterable[Mapping[str, Any] | Sample], /, **shared: Any) -> list[str]:
        """Record several samples, each a `Sample` or a dict of `sample`'s arguments; return their uids."""
        return [self._given(sample, shared, step=shared.get("step")) for sample in some]

    @guarded(str, loses="samples")
    def _given(self, sample: Mapping[str, Any] | Sample, shared: Mapping[str, Any], *, step: object) -> str:  # noqa: ARG002
        return self.sample(**{**(given_of(sample) if isinstance(sample, Sample) else dict(sample)), **shared})

    @guarded(list[str], loses="groups")
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
        """Record a trainer's group of trajectories; return the uids of its samples.

        `trajectory_group` has `trajectories_G`, `final_rewards_G` and `metrics_G`, as attributes or keys. `decode`
        turns token ids into text; without it, the text is what the environment logged. All other arguments are those of
        `sample`, and apply to every sample of the group.
        """
        given = list(samples_of(trajectory_group, decode))
        return [self.sample(step=step, group=group, **{**arguments, **sample}) for arguments in given]

    @guarded(lambda: None, loses="lines of metrics")
    def metrics(self, step: SupportsIndex | None, values: Mapping[str, object]) -> None:
        """Record the trainer's metrics of a step, or of no step if None; the last value of each name counts."""
        at = None if step is None else step_of(step)
        arguments = Arguments(self.trouble, at)
        numbers, words = arguments.numbers("metric", values)
        for metric, text_given in words.items():
            arguments.take(f"metric {metric!r}", number, text_given)
        if at is not None:
            self._steps.logged(at, numbers)
        self._put_metrics(at, numbers, {})

    def _put_metrics(self, step: int | None, values: dict[str, float], sums: dict[str, list[float]]) -> None:
        record = {"step": step, "time": time.time(), "values": values, **({"sums": sums} if sums else {})}
        self._background.put(background.QueuedLine("metrics", record, {}, weight(record)))

    @guarded(lambda: None, loses="annotations")
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
        """Add to a recorded sample; the newest annotation of a value counts.

        `discarded=""` withdraws a discard. Each of `series` covers the response, or all tokens of the sample.
        """
        arguments = Arguments(self.trouble)
        arrays = arguments.arrays(None, series)
        numbers, words = arguments.numbers("metrics", metrics)
        record = {
            "uid": name(uid), "advantage": arguments.take("advantage", number, advantage),
            "discarded": None if discarded is None else word(discarded), "metrics": numbers,
            "tags": words | arguments.words("tags", tags),
        }  # fmt: skip
        if not (sample_uid := name(uid)):
            raise ValueError("an annotation needs the uid of a sample")
        self._put("annotations", record, arrays, self._steps.lengths_of(sample_uid))

    @guarded(lambda: None, loses="annotations")
    def discard(self, uid: str, reason: str) -> None:
        """Record that training skipped a sample, and why: `zero_advantage`, `stale`, `filtered`, ..."""
        if not word(reason):
            raise ValueError('discard needs a reason, such as "stale"; annotate(uid, discarded="") withdraws one')
        self.annotate(uid, discarded=reason)

    @guarded(str, loses="samples")
    def error(self, /, *, step: SupportsIndex, error: object, **sample: Any) -> str:
        """Record a failed rollout as a sample with the status `error`; takes every argument of `sample`."""
        message, kind = word(error), "error"
        if isinstance(error, BaseException):
            message, kind = "".join(traceback.format_exception(error)), type(error).__qualname__
        arguments = Arguments(self.trouble, step)
        extra = {**dict(arguments.items("extra", sample.pop("extra", None))), "error": message}
        tags = {**dict(arguments.items("tags", sample.pop("tags", None))), "error": kind}
        sample = {"status": "error", "discarded": "error", **sample}
        return self.sample(step=step, extra=extra, tags=tags, **sample)

    @guarded(lambda: None)
    def checkpoint(
        self,
        name: str,
        *,
        step: SupportsIndex,
        paths: Mapping[str, object] | None = None,
        loop_state: Mapping[str, object] | None = None,
    ) -> None:
        """Record that training saved its state, and where; the record is on disk when this returns."""
        at = step_of(step)
        self._background.flush()
        record = {
            "name": word(name), "step": at, "paths": Arguments(self.trouble, at).words("paths", paths),
            "loop_state": jsonable(loop_state or {}), "time": time.time(),
        }  # fmt: skip
        self._folder.append(folder.CHECKPOINTS, record)

    def last_checkpoint(self) -> Checkpoint | None:
        """Return the last recorded checkpoint; its `extra` holds the loop state."""
        return self._folder.last_checkpoint()

    @guarded(bool)
    def step_end(self, step: SupportsIndex) -> bool:
        """End a step: add the metrics derived from its samples, and wait until everything is written.

        Returns True if the run's files hold every line and token series that this process recorded since the last
        `step_end`, from any thread, and the metrics of this step. They then survive a crash of the process, but not of
        the machine. Returns False if some were lost, for example because the disk is full or writing fell behind:
        `failures` lists the reasons, and recording continues. Values that could not be read appear in `failures` but do
        not make this False.
        """
        before = self._acknowledged
        self._background.flush()
        try:
            at, now_s = step_of(step), time.monotonic()
            values = {"progress/batch": float(at), "time/total": now_s - self._began_s}
            self._began_s = now_s
            if self._background.dropped:
                values["recorder/token_series_dropped"] = float(self._background.dropped)
            self._put_metrics(at, *self._steps.end(at, values))
        finally:
            self._background.flush()
            self._look_around()
            lost = self._acknowledged = self._background.lost + self._removed
        self.trouble.raise_met()
        return lost == before

    @guarded(lambda: None)
    def config(self, config: object) -> None:
        """Record a configuration that is known only now; if it differs from the last one, the run keeps both."""
        self._keep_config(config)

    @guarded(lambda: None, loses="calls")
    def safely(self, work: Callable[..., object], /, *arguments: object) -> None:
        """Call a function that prepares a recording; the recorder warns of its errors and counts them as its own."""
        work(*arguments)

    @guarded(lambda: None)
    def flush(self) -> None:
        """Wait until everything recorded so far is written and survives a crash of the process."""
        self._background.flush()
        self._look_around()
        self.trouble.raise_met()

    def close(self) -> None:
        """Write the queued lines, and end. If it is interrupted, the next call or the end of the process continues."""
        if self._closed or self._pid != os.getpid():
            return
        self._ending = True
        try:
            self._keep(self._background.close)
            self._keep(self._look_around)
            self._keep(lambda: self._folder.ended(self.producer))
            if self._upload is not None:
                self._upload.close()
        except BaseException:  # mostly Ctrl-C
            self.trouble.say(f"close() was interrupted; lines not yet written: {self._background.waiting:,}. {GO_ON}")
            self.trouble.tell()
            raise
        unwritten = [  # for example, on a disk that is still full
            f"{number:,} {what}{'' if step is None else f' of step {step}'} ({reason})"
            for (what, step, reason), number in self.trouble.losses().most_common()
        ]
        if unwritten:
            more = f", and {len(unwritten) - MOST_TOLD} more" if len(unwritten) > MOST_TOLD else ""
            self.trouble.say(f"lost, and the run's files do not say so: {', '.join(unwritten[:MOST_TOLD])}{more}")
        self._closed = True
        atexit.unregister(self.close)
        self._launch.close()
        self.trouble.tell()
        self.trouble.raise_met()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def ready(self) -> None:
        """Prepare for a call: a forked process opens files of its own. Raises if the recorder is closed."""
        if self._ending:
            raise RuntimeError("the recorder is closed")
        if self._pid != os.getpid():
            with self._lock:
                if self._pid != os.getpid():
                    self._begin()

    def forked(self) -> None:
        """Let go of the parent's files in a forked process, where no thread holds a lock."""
        self._lock = threading.Lock()
        self.trouble.forked()
        self._background.abandon()
        if self._upload is not None:
            self._upload.abandon()
        self._launch.close()

    def _look_around(self) -> None:
        """Write a configuration that had to wait; if the run's folder is gone, recreate it with a warning."""
        if self._unkept is not None:
            unkept, self._unkept = self._unkept, None
            self._keep(unkept)
        if self._background.vanished > self._vanished or not self._folder.is_made():
            self._vanished = self._background.vanished
            self._removed += 1
            self.trouble.report("files of the run are gone, with their contents")
            self._keep(lambda: self._folder.make(self._ranges))
            self._keep(self._note)

    def _keep(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:
            self.trouble.met(error)


_alive: weakref.WeakValueDictionary[tuple[str, str], Recorder] = weakref.WeakValueDictionary()
"""The recorders of this process by folder and name: a new one closes the one that it replaces, as in a notebook."""


def _after_fork() -> None:
    for recorder in list(_alive.values()):
        recorder.forked()


os.register_at_fork(after_in_child=_after_fork)


def _place(record: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {str(record[key])[:60]}" for key in ("split", "step", "group", "index") if key in record)
