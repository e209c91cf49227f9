"""prime-rl's token export: `token_exports/step_{N}/rank_{R}.jsonl`, one line for each packed sequence.

Source: `trainer/rl/token_export.py` of prime-rl at #2551 (version 1), #2592 (2), #2641 (4, which has rewards and is the
default) and main of August 2026 (7). Every rank writes its own file with every sequence that it trains on, at every
step. This module never imports torch.
"""

import contextlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from rolloupe import tokens
from rolloupe.model import Sample
from rolloupe.record.failures import Guard
from rolloupe.record.lines import COMPACT, encoded
from rolloupe.record.writers import Left, Writer
from rolloupe.record.writers.comparison import Tally, free_number, read_back, spread, stored
from rolloupe.record.writers.prime_rl import micro_batch
from rolloupe.record.writers.prime_rl.micro_batch import PackedBatch, numbers
from rolloupe.storage.atomic import append

EXPORTS = "token_exports"
STABLE = "STABLE"
SCHEMA_VERSION = 1
"""The same for every version."""

AT_SAMPLING = ("logprobs", "inference_logprobs")
"""Names of the sampling policy's logprobs in samples; the first one present counts."""

MAX_STEP = 10**15
"""Names of steps have up to 15 digits."""


class RankFolder:
    """The folder of a rank, and the marks of finished steps.

    In prime-rl, each rank waits for the others and then touches `STABLE`. Here no rank waits: each leaves a mark when
    it ends a step, and the rank that finds all marks touches `STABLE` and removes them.
    """

    def __init__(self, output_dir: Path, rank: int, world_size: int, version: int, run_id: str | None) -> None:
        if run_id is not None and (run_id in ("", ".", "..") or "/" in run_id or "\0" in run_id):
            raise ValueError(f"run_id {run_id!r} is not a valid folder name")
        self.folder = (output_dir if run_id is None else output_dir / run_id) / EXPORTS
        self.rank = rank
        self.run_id = run_id
        self._has_steps = version >= 4
        """True for versions that write a folder for each step."""
        self._world_size = world_size
        self._begun: set[int] = set()
        self._unmarked: set[int] = set()

    def begin(self) -> None:
        """Create the file, or remove the marks that an earlier process left in unfinished steps. Raises `OSError`."""
        if not self._has_steps:
            append(self._file(0), b"")
        elif self._world_size > 1:
            with contextlib.suppress(OSError):
                for mark in self.folder.glob(f"step_*/{self._mark(self.rank)}"):
                    mark.unlink(missing_ok=True)

    def write(self, step: int, data: bytes) -> None:
        """Append to a step, after removing lines that an earlier process wrote, for example before a restart."""
        path = self._file(step)
        if self._has_steps:
            for name in (STABLE, self._mark(self.rank)):
                (path.parent / name).unlink(missing_ok=True)
            if step not in self._begun:
                path.unlink(missing_ok=True)
        append(path, data)
        self._begun.add(step)

    def end(self, step: int) -> None:
        """Mark a step as ended by this rank, and as `STABLE` once all ranks have ended it."""
        if not self._has_steps:
            return
        folder = self._file(step).parent
        folder.mkdir(parents=True, exist_ok=True)
        if self._world_size > 1:
            (folder / self._mark(self.rank)).touch()
        self._unmarked.add(step)
        self.settle()

    def settle(self) -> None:
        """Touch `STABLE` in the steps that all ranks have ended."""
        for step in sorted(self._unmarked):
            folder = self._file(step).parent
            marks = [folder / self._mark(rank) for rank in range(self._world_size)]
            if (folder / STABLE).exists():
                self._unmarked.discard(step)
            elif self._world_size == 1 or all(mark.exists() for mark in marks):
                (folder / STABLE).touch()
                for mark in marks:
                    mark.unlink(missing_ok=True)
                self._unmarked.discard(step)

    def _file(self, step: int) -> Path:
        return (self.folder / f"step_{step}" if self._has_steps else self.folder) / f"rank_{self.rank}.jsonl"

    def _mark(self, rank: int) -> str:
        return f".rank_{rank}.ended"


@dataclass(eq=False)
class TokenExporter:
    """Writes the token export of one rank. As a context manager, it does not end the last step after an exception."""

    output_dir: str | PathLike[str]
    """The run's folder; files go to its folder `token_exports/`."""
    _: KW_ONLY
    rank: int = 0
    """The rank of this process. Of ranks that share micro-batches (context parallelism), enable only one."""
    world_size: int = 1
    """How many ranks export; a step is `STABLE` once all of them have ended it."""
    enabled: bool = True
    """Whether to export at all; otherwise the exporter does nothing."""
    version: int = 4
    """The shape of the records, 1, 2, 4 or 7.

    1, 2 and 4 have rewards; 4 and 7 have a folder for each step, with its `STABLE` mark.
    """
    run_id: str | None = None
    """If one trainer serves several runs: the name of this run's folder below `output_dir` (version 4)."""
    env_name: str | None = None
    """The environment of sequences for which the batch names none."""
    pad_token_id: int | None = None
    """The padding token, for a batch without `env_names` and `attention_mask`."""
    loss_type: str = "default"
    """`default` is DPPO; for any other loss the exporter writes no flags."""
    dppo_mask_low: float | None = None
    """How far a probability may fall, by default 0.2."""
    dppo_mask_high: float | None = None
    """How far it may rise, by default 0.2."""
    strict: bool = False
    """Raise errors, instead of counting them and continuing."""

    def __post_init__(self) -> None:
        if self.version not in micro_batch.VERSIONS:
            raise ValueError(f"version {self.version!r} is not one of {', '.join(map(str, micro_batch.VERSIONS))}")
        run_id = self.run_id if self.enabled and self.version == 4 else None
        folder = Path(self.output_dir if self.enabled else ".")  # a disabled exporter may be given none
        self._place = RankFolder(folder, self.rank, max(1, self.world_size), self.version, run_id)
        limits = {"low": self.dppo_mask_low, "high": self.dppo_mask_high}
        dppo = tokens.DPPO.at(**{name: limit for name, limit in limits.items() if limit is not None})
        self._rule = dppo if self.loss_type == "default" else None
        self._guard = Guard(f"token export of rank {self.rank}", strict=self.strict)
        self._open: int | None = None
        self._micro_step = 0
        self._written: dict[int, int] = {}
        self._failed: set[int] = set()
        self._closed = False
        if self.enabled:
            self._guard.call(self._place.begin, None)

    @property
    def failures(self) -> int:
        """How many calls failed to write; the first is logged, and none is raised unless `strict`."""
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
        return self._guard.call(lambda: self._export(step, packed_batch, export_step), 0) if self.enabled else 0

    def step_end(self, step: int | None = None) -> None:
        """Declare that this rank has written all of a step, by default the one that it wrote last.

        A rank with nothing to write in a step must still call this. If a write failed during a step, the step never
        becomes `STABLE`: it reads as incomplete.
        """
        ended = self._open if step is None else step
        if self.enabled and ended is not None and ended not in self._failed:
            self._guard.call(lambda: self._place.end(ended), None)
        if ended == self._open:
            self._open = None

    def close(self) -> None:
        if self.enabled and not self._closed:
            self._closed = True
            self.step_end()
            self._guard.call(self._place.settle, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
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
        packed = PackedBatch(batch, self.version, self._rule, self.pad_token_id)
        head = {"step": step, "export_step": target, "rank": self.rank, "micro_step": self._micro_step}
        self._micro_step += 1
        lines = []
        for place, extent in packed.sequences():
            numbered = head | {"micro_sequence_idx": place, "export_sequence_idx": self._written.get(target, 0)}
            names = {"run_id": self._place.run_id, "env_name": packed.env_name(extent) or self.env_name}
            columns = {name: values[extent] for name, values in packed.columns.items()}
            record = _record(self.version, numbered | names | {"training_mode": packed.mode}, columns)
            lines.append(encoded(record, separators=COMPACT))
            self._written[target] = self._written.get(target, 0) + 1
        if lines:
            self._place.write(target, b"".join(lines))
        return len(lines)


setup_token_export = TokenExporter
"""Return an exporter for this rank; the function of prime-rl with this name takes these arguments."""


_LEFT_OUT: dict[int, tuple[str, ...]] = {
    1: ("export_step", "run_id"), 2: ("export_step", "run_id"), 4: (), 7: ("export_step", "run_id", "training_mode"),
}  # fmt: skip
"""The keys before the columns that a version lacks."""


def _record(version: int, head: Mapping[str, Any], columns: Mapping[str, Any]) -> dict[str, Any]:
    own = {key: value for key, value in head.items() if key not in _LEFT_OUT[version]}
    tokens_of = {"tokens": micro_batch.objects(columns)} if version == 1 else columns
    return {"schema_version": SCHEMA_VERSION, **own, **tokens_of}


class PrimeRLWriter(Writer):
    """Writes samples that have token ids, in version 4, plus the weights of version 7 for samples that have them.

    The layout has no text, groups or splits; samples of evaluations are left out.
    """

    name: ClassVar[str] = "prime_rl"

    def __init__(self, path: Path) -> None:
        self._path = path
        self._places: dict[int, RankFolder] = {}

    def write(self, split: str, step: int, samples: Iterable[Sample]) -> Left:
        from rolloupe.formats.prime_rl.exports import PrimeRL

        tally = Tally()
        used: dict[int, set[int]] = {}
        for sample in samples:
            if split != "train":
                tally.found["samples of splits other than train"] += 1
            elif not 0 <= step < MAX_STEP:
                tally.found["samples of steps that are below 0 or too large"] += 1
            elif not sample.token_ids:
                tally.found["samples without token ids"] += 1
            else:
                record = _record(4, _head(step, sample, used), _columns(sample))
                rank = record["rank"]
                place = self._places.setdefault(rank, RankFolder(self._path, rank, 1, 4, None))
                place.write(step, encoded(record, separators=COMPACT))
                name = f"{EXPORTS}/step_{step}/rank_{rank}.jsonl"
                tally.compare(sample, read_back(PrimeRL(), record, name, "train", step))
        for rank in used:
            self._places[rank].end(step)
        return tally.found


def _head(step: int, sample: Sample, used: dict[int, set[int]]) -> dict[str, Any]:
    """Return the numbers of a sequence: its own from such a file if they are free, else the next free ones."""
    row = sample.row
    stored_numbers = [
        _count(row.metrics.get(key)) for key in ("rank", "micro_step", "micro_sequence_idx", "export_sequence_idx")
    ]
    rank, micro_step, place, number = (0, 0, None, None) if None in stored_numbers else stored_numbers
    number = free_number(number, used.setdefault(rank or 0, set()))
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
    missing = np.full(size, np.nan)
    given = {series.name: spread(stored(series), size) for series in sample.series}
    mask = tokens.counts(given["loss_mask"]) if "loss_mask" in given else _mask(sample, size)
    sampled = next((given[name] for name in AT_SAMPLING if name in given), None)
    # as the trainer does for tokens that it did not sample
    logprobs = None if sampled is None else numbers(np.where(~mask & np.isnan(sampled), 0.0, sampled))
    columns: dict[str, list[Any]] = {
        "token_ids": sample.token_ids, "position_ids": list(range(size)), "loss_mask": mask.tolist(),
        "inference_logprobs": logprobs or [None] * size,
    }  # fmt: skip
    for name, value in (("advantages", sample.row.advantage), ("rewards", sample.row.reward)):
        columns[name] = numbers(given.get(name, np.full(size, np.nan if value is None else value)))
    # if the policy sampled none of it, the trainer compares nothing
    weights = {series.name: np.nan_to_num(series.values).any() for series in sample.series if "weights" in series.name}
    is_meaningless = sample.row.tags.get("training_mode") == "sft" or (
        "rl_weights" in weights and not weights["rl_weights"] and not weights.get("ref_kl_weights", False)
    )
    if sampled is not None and "trainer_logprobs" in given and not is_meaningless:
        advantages = np.array(columns["advantages"], dtype=np.float64)
        given = _compared(given["trainer_logprobs"], sampled, advantages, mask) | given
    for name in ("trainer_logprobs", "entropy", *micro_batch.NUMBERS):
        columns[name] = numbers(given.get(name, missing))
    for name in micro_batch.FLAGS:
        columns[name] = [None if math.isnan(value) else bool(value) for value in given.get(name, missing).tolist()]
    further = (*micro_batch.WEIGHTS, *micro_batch.OF_THE_FIRST)
    return columns | {name: numbers(given[name]) for name in further if name in given}


def _compared(
    trainer: tokens.Floats, sampler: tokens.Floats, advantages: tokens.Floats, mask: tokens.Flags
) -> dict[str, tokens.Floats]:
    """Return the ratios and flags that the trainer would compute, flags only for known advantages; shapes (T,)."""
    compared = micro_batch.ratios(trainer, sampler)
    delta = compared["prob_delta"]
    flags = tokens.DPPO.flags_of(delta, advantages, mask)
    has_flag = mask & ~np.isnan(delta) & ~np.isnan(advantages)
    numbers_of = {name: np.where(mask, values, np.nan) for name, values in compared.items()}
    known_flags = [np.where(has_flag, values, np.nan) for values in flags]
    return numbers_of | dict(zip(micro_batch.FLAGS, known_flags, strict=True))


def _mask(sample: Sample, size: int) -> tokens.Flags:
    """Return which tokens were sampled, without a loss mask: the answers, or else all after the prompt."""
    mask = np.zeros(size, dtype=np.bool_)
    for turn in sample.turns:
        if turn.origin == "response" and turn.role == "assistant" and turn.token_start is not None:
            mask[turn.token_start : turn.token_stop] = True
    if not mask.any():
        answer, prompt = sample.row.response_tokens, sample.row.prompt_tokens
        mask[max(0, prompt or 0 if answer is None else size - answer) :] = True
    return mask
