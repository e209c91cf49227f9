"""prime-rl's token export: `token_exports/step_{N}/rank_{R}.jsonl`, one line for each packed sequence.

Source: `trainer/rl/token_export.py` of prime-rl at #2551 (version 1), #2592 (2), #2641 (4, which has rewards and is the
default) and main of August 2026 (7). Every rank writes its own file with every sequence that it trains on, at every
step. This module never imports torch.
"""

import math
from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from rolloupe import tokens
from rolloupe.model import Sample, TokenSeries
from rolloupe.record.failures import Guard
from rolloupe.record.lines import encoded
from rolloupe.record.writers.base import Left, Writer
from rolloupe.record.writers.comparison import Tally, read_back, spread, stored
from rolloupe.record.writers.prime_rl.micro_batch import (
    FLAGS,
    NUMBERS,
    OF_THE_FIRST,
    VERSIONS,
    WEIGHTS,
    Loss,
    PackedBatch,
    numbers,
    objects,
)
from rolloupe.record.writers.prime_rl.steps import EXPORTS, RankFolder
from rolloupe.storage.atomic import append

SCHEMA_VERSION = 1
"""The `schema_version` is the same for every shape."""

COMPACT = (",", ":")
AT_SAMPLING = ("logprobs", "inference_logprobs")
"""Names of the sampling policy's logprobs in samples; the first one present counts."""

MAX_STEP = 10**15
"""Names of steps have up to 15 digits."""


class Exporter(Protocol):
    """The object that `setup_token_export` returns."""

    @property
    def failures(self) -> int:
        """How many calls failed to write; the first is logged, and none is raised unless `strict`."""
        ...

    def export(self, step: int, packed_batch: Any, *, export_step: int | None = None) -> int:
        """Write the sequences of a packed micro-batch; returns the number of sequences."""
        ...

    def step_end(self, step: int | None = None) -> None:
        """Declare that this rank has written all of a step, by default the one that it wrote last."""
        ...

    def close(self) -> None:
        """End the last step."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def setup_token_export(
    output_dir: str | PathLike[str],
    *,
    rank: int = 0,
    world_size: int = 1,
    enabled: bool = True,
    version: int = 4,
    run_id: str | None = None,
    env_name: str | None = None,
    pad_token_id: int | None = None,
    loss_type: str = "default",
    dppo_mask_low: float | None = None,
    dppo_mask_high: float | None = None,
    strict: bool = False,
) -> Exporter:
    """Return an exporter for this rank; unless `enabled`, it does nothing.

    Args:
        output_dir: the run's folder; files go to its folder `token_exports/`.
        rank: the rank of this process. Of ranks that share micro-batches (context parallelism), enable only one.
        world_size: how many ranks export; a step is `STABLE` once all of them have ended it.
        enabled: whether to export at all.
        version: the shape of the records, 1, 2, 4 or 7. 1, 2 and 4 have rewards; 4 and 7 have a folder for each step,
            with its `STABLE` mark.
        run_id: if one trainer serves several runs: the name of this run's folder below `output_dir` (version 4).
        env_name: the environment of sequences for which the batch names none.
        pad_token_id: the padding token, for a batch without `env_names` and `attention_mask`.
        loss_type: `default` is DPPO; for any other loss the exporter writes no flags.
        dppo_mask_low: how far a probability may fall, by default 0.2.
        dppo_mask_high: how far it may rise, by default 0.2.
        strict: raise errors, instead of counting them and continuing.
    """
    if version not in VERSIONS:
        raise ValueError(f"version {version!r} is not one of {', '.join(map(str, VERSIONS))}")
    if not enabled:
        return DisabledTokenExporter()
    usual = Loss()
    loss = Loss(
        dppo=loss_type == "default",
        low=usual.low if dppo_mask_low is None else dppo_mask_low,
        high=usual.high if dppo_mask_high is None else dppo_mask_high,
    )
    place = RankFolder(Path(output_dir), rank, max(1, world_size), version, run_id if version == 4 else None)
    return TokenExporter(place, loss, env_name=env_name, pad_token_id=pad_token_id, strict=strict)


class DisabledTokenExporter:
    """Does nothing."""

    @property
    def failures(self) -> int:
        return 0

    def export(self, step: int, packed_batch: Any, *, export_step: int | None = None) -> int:
        del step, packed_batch, export_step
        return 0

    def step_end(self, step: int | None = None) -> None:
        """See `Exporter`."""

    def close(self) -> None:
        """See `Exporter`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class TokenExporter:
    """Writes the token export of one rank. As a context manager, it does not end the last step after an exception."""

    def __init__(
        self, place: RankFolder, loss: Loss, *, env_name: str | None, pad_token_id: int | None, strict: bool
    ) -> None:
        self._place = place
        self._loss = loss
        self._env_name = env_name
        self._pad_token_id = pad_token_id
        self._guard = Guard(f"token export of rank {place.rank}", strict=strict)
        self._open: int | None = None
        self._micro_step = 0
        self._written: dict[int, int] = {}
        self._failed: set[int] = set()
        self._closed = False
        if not place.has_steps:  # these versions open the file before the first step
            self._guard.call(lambda: append(place.file(0), b""), None)

    @property
    def failures(self) -> int:
        return self._guard.failures

    def export(self, step: int, packed_batch: Any, *, export_step: int | None = None) -> int:
        """Write the sequences of a packed micro-batch that have tokens to train on; returns their number.

        `packed_batch` is a mapping, or an object with attributes, of arrays, tensors or lists of length T: `input_ids`
        (or `token_ids`), `position_ids` and `loss_mask`, and optionally `inference_logprobs`, `trainer_logprobs`,
        `entropy`, `advantages` and `rewards` (these two may have one value for each sequence), `env_names`,
        `training_mode`, `rl_weights`, `ce_weights`, `ref_kl_weights`. Ratios and flags that the trainer has computed
        are written as they are. `sequence_lengths` gives the bounds of sequences; without it, a sequence ends where
        positions restart.

        The first export of another step ends the previous one. `export_step` names the folder if one step of a run
        takes several steps of the trainer. An empty batch, or None, writes nothing.
        """
        return self._guard.call(lambda: self._export(step, packed_batch, export_step), 0)

    def step_end(self, step: int | None = None) -> None:
        """See `Exporter`. A rank with nothing to write in a step must still call this.

        If a write failed during a step, the step never becomes `STABLE`: it reads as incomplete.
        """
        ended = self._open if step is None else step
        if ended is not None and ended not in self._failed:
            self._guard.call(lambda: self._place.end(ended), None)
        if ended == self._open:
            self._open = None

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self.step_end()
        self._guard.call(self._place.settle, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        self._closed = True

    def _export(self, step: int, batch: Any, export_step: int | None) -> int:
        if self._closed:
            raise ValueError(f"the exporter for {self._place.folder} is closed")
        step = int(step)
        target = step if export_step is None else int(export_step)
        if self._open is not None and self._open != target:
            self.step_end()
        if self._open is None:
            self._open, self._micro_step = target, 0
        if batch is None or (isinstance(batch, Mapping) and not batch):
            return 0
        try:
            return self._write(step, target, batch)
        except Exception:
            self._failed.add(target)
            raise

    def _write(self, step: int, target: int, batch: Any) -> int:
        packed = PackedBatch(batch, self._place.version, self._loss, self._pad_token_id)
        head = {"step": step, "export_step": target, "rank": self._place.rank, "micro_step": self._micro_step}
        self._micro_step += 1
        lines = []
        for place, extent in packed.sequences():
            numbered = head | {"micro_sequence_idx": place, "export_sequence_idx": self._written.get(target, 0)}
            names = {"run_id": self._place.run_id, "env_name": packed.env_name(extent) or self._env_name}
            columns = {name: values[extent] for name, values in packed.columns.items()}
            record = _record(self._place.version, numbered | names | {"training_mode": packed.mode}, columns)
            lines.append(encoded(record, separators=COMPACT))
            self._written[target] = self._written.get(target, 0) + 1
        if lines:
            self._place.write(target, b"".join(lines))
        return len(lines)


_HEADS = {
    4: (
        "step", "export_step", "rank", "micro_step", "micro_sequence_idx", "export_sequence_idx", "run_id", "env_name",
        "training_mode",
    ),
    7: ("step", "rank", "micro_step", "micro_sequence_idx", "export_sequence_idx", "env_name"),
}  # fmt: skip
_HEADS[1] = _HEADS[2] = tuple(key for key in _HEADS[4] if key not in ("export_step", "run_id"))
"""The keys before the columns, in order, by version."""


def _record(version: int, head: Mapping[str, Any], columns: Mapping[str, list[Any]]) -> dict[str, Any]:
    record = {"schema_version": SCHEMA_VERSION, **{key: head[key] for key in _HEADS[version]}}
    return record | ({"tokens": objects(columns)} if version == 1 else dict(columns))


class PrimeRLWriter(Writer):
    """Writes samples that have token ids, in version 4, plus the weights of version 7 for samples that have them.

    The layout has no text, groups or splits; samples of evaluations are left out.
    """

    name: ClassVar[str] = "prime_rl"

    def __init__(self, path: Path) -> None:
        self._path = path
        self._places: dict[int, RankFolder] = {}

    def write(self, split: str, step: int, samples: Iterable[Sample]) -> Left:
        tally = Tally()
        used: dict[int, set[int]] = {}
        for sample in samples:
            if split != "train":
                tally.add_whole("samples of splits other than train")
            elif not 0 <= step < MAX_STEP:
                tally.add_whole("samples of steps that are below 0 or too large")
            elif not sample.token_ids:
                tally.add_whole("samples without token ids")
            else:
                tally.compare(sample, self._write(step, sample, used))
        for rank in used:
            self._place(rank).end(step)
        return tally.found

    def _write(self, step: int, sample: Sample, used: dict[int, set[int]]) -> Sample | None:
        from rolloupe.formats.prime_rl.exports import PrimeRL

        head = _head(step, sample, used)
        record = _record(4, head, _columns(sample))
        self._place(head["rank"]).write(step, encoded(record, separators=COMPACT))
        name = f"{EXPORTS}/step_{step}/rank_{head['rank']}.jsonl"
        return read_back(PrimeRL(), record, name, "train", step)

    def _place(self, rank: int) -> RankFolder:
        return self._places.setdefault(rank, RankFolder(self._path, rank, 1, 4, None))


def _head(step: int, sample: Sample, used: dict[int, set[int]]) -> dict[str, Any]:
    """Return the numbers of a sequence: its own if it comes from such a file and they are free, else the next free."""
    row = sample.row
    stored_numbers = [
        _count(row.metrics.get(key)) for key in ("rank", "micro_step", "micro_sequence_idx", "export_sequence_idx")
    ]
    rank, micro_step, place, number = (0, 0, None, None) if None in stored_numbers else stored_numbers
    used_numbers = used.setdefault(rank or 0, set())
    if number is None or number in used_numbers:
        number = next(free for free in range(len(used_numbers), 2 * len(used_numbers) + 1) if free not in used_numbers)
    used_numbers.add(number)
    trainer_step = _count(row.metrics.get("trainer_step"))
    return {
        "step": step if trainer_step is None else trainer_step, "export_step": step, "rank": rank,
        "micro_step": micro_step, "micro_sequence_idx": number if place is None else place,
        "export_sequence_idx": number, "run_id": row.tags.get("run_id"), "env_name": row.env or None,
        "training_mode": row.tags.get("training_mode"),
    }  # fmt: skip


def _count(value: float | None) -> int | None:
    return int(value) if value is not None and 0 <= value < MAX_STEP and float(value).is_integer() else None


def _columns(sample: Sample) -> dict[str, list[Any]]:
    """Return the columns of a sample with token ids. Missing numbers are null."""
    size = len(sample.token_ids)
    series = {one.name: one for one in sample.series}

    def column(name: str) -> tokens.Floats:
        return spread(stored(series[name]), size) if name in series else np.full(size, np.nan)

    mask = tokens.counts(column("loss_mask")) if "loss_mask" in series else _mask(sample, size)
    sampled = next((name for name in AT_SAMPLING if name in series), "")
    sampler = column(sampled)
    sampler = np.where(~mask & np.isnan(sampler), 0.0, sampler)  # as the trainer does for tokens that it did not sample
    found: dict[str, list[Any]] = {
        "token_ids": sample.token_ids,
        "position_ids": list(range(size)),
        "loss_mask": mask.tolist(),
        "advantages": numbers(column("advantages")) if "advantages" in series else _all(sample.row.advantage, size),
        "rewards": numbers(column("rewards")) if "rewards" in series else _all(sample.row.reward, size),
        "inference_logprobs": numbers(sampler) if sampled else [None] * size,
    }
    computed: dict[str, tokens.Floats] = {}
    if sampled and "trainer_logprobs" in series and not _is_meaningless(sample, series):
        advantages = np.array(found["advantages"], dtype=np.float64)
        computed = _compared(column("trainer_logprobs"), column(sampled), advantages, mask)
    for name in ("trainer_logprobs", "entropy", *NUMBERS):
        found[name] = numbers(computed[name] if name in computed and name not in series else column(name))
    for name in FLAGS:
        values = computed[name] if name in computed and name not in series else column(name)
        found[name] = [None if math.isnan(value) else bool(value) for value in values.tolist()]
    return found | {name: numbers(column(name)) for name in (*WEIGHTS, *OF_THE_FIRST) if name in series}


def _compared(
    trainer: tokens.Floats, sampler: tokens.Floats, advantages: tokens.Floats, mask: tokens.Flags
) -> dict[str, tokens.Floats]:
    """Compute what the trainer would of two policies; flags only for known advantages. Shapes are (T,)."""
    gap = tokens.log_ratio(trainer, sampler)
    delta = tokens.prob_delta(trainer, sampler)
    numbers_of = tokens.mismatch_kl(gap), gap, tokens.importance_ratio(gap), delta
    flags = tokens.DPPO().flags_of(delta, advantages, mask)
    has_flag = mask & ~np.isnan(delta) & ~np.isnan(advantages)
    found = dict(zip(NUMBERS, (np.where(mask, one, np.nan) for one in numbers_of), strict=True))
    return found | dict(zip(FLAGS, (np.where(has_flag, one, np.nan) for one in flags), strict=True))


def _is_meaningless(sample: Sample, series: Mapping[str, TokenSeries]) -> bool:
    """Return whether the policy sampled none of it, so that the trainer compares nothing."""
    weights = [np.nan_to_num(series[name].values).any() for name in ("rl_weights", "ref_kl_weights") if name in series]
    return sample.row.tags.get("training_mode") == "sft" or ("rl_weights" in series and not any(weights))


def _all(value: float | None, size: int) -> list[float | None]:
    return numbers(np.full(size, np.nan if value is None else value))


def _mask(sample: Sample, size: int) -> tokens.Flags:
    """Return the sampled tokens without a loss mask: the spans of the answers, else everything after the prompt."""
    mask = np.zeros(size, dtype=np.bool_)
    for turn in sample.turns:
        if turn.origin == "response" and turn.role == "assistant" and turn.token_start is not None:
            mask[turn.token_start : turn.token_stop] = True
    if not mask.any():
        answer, prompt = sample.row.response_tokens, sample.row.prompt_tokens
        mask[max(0, prompt or 0 if answer is None else size - answer) :] = True
    return mask
