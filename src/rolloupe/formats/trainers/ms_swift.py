"""The completions that ms-swift logs: one line of JSON a log, its columns as lists.

Source: `JsonlWriter` and the trainers of ms-swift 4.6 (`swift/rlhf_trainers/grpo_trainer.py`, `rollout_mixin.py`). The
columns are step, prompt, completion, a list for each reward function, advantages, then what the rollout added. With
Megatron (`swift/megatron/trainers`) the step is `gen_step`; with Ray (`swift/ray/megatron`) a line is a sample.
"""

from pathlib import Path
from typing import Any, ClassVar

from msgspec.structs import replace

from rolloupe.formats.reading import fields
from rolloupe.formats.reading.documents import columns_at, sample_count
from rolloupe.formats.reading.files import file_of, folder_of, is_one_file, plain_name
from rolloupe.formats.reading.jsonl import JsonlFormat
from rolloupe.formats.reading.records import Record, Unusable, step_of
from rolloupe.formats.reading.trainer_files import read_json
from rolloupe.formats.trainers.trl import UNWEIGHTED, RewardParts
from rolloupe.model import Locator, RunInfo, Sample, SampleRow, Scanned, Source

NAME = "completions.jsonl"
STEPS = ("step", "gen_step")
"""With Megatron, `gen_step` alone."""
TEXTS = ("prompt", "completion")


class MsSwift(RewardParts, JsonlFormat):
    """Completions of ms-swift."""

    name = "ms_swift"
    title = "ms-swift"
    suffixes: ClassVar[tuple[str, ...]] = (NAME,)
    recognises = (
        "`completions.jsonl` whose lines hold lists of equal length under `step` or `gen_step`, `prompt` and "
        "`completion`, or one of each, as with Ray; also one such file under another name that a person names."
    )
    layout = (
        "`{output_dir}/completions.jsonl`, appended. [frameworks/ms_swift.md](frameworks/ms_swift.md) has the switches."
    )
    identity = (
        "step = `step`, else `gen_step`; group = a hash of the prompt, as the samples of a prompt follow each other; "
        "index = `{file}:{byte offset of the line}.{place in its lists}`. Split `train`."
    )
    reads = (
        ("`prompt`, `completion`", "turns"),
        ("`reward` of a line with one sample", "reward: the sum of the reward functions"),
        (
            "the lists of numbers between `completion` and `advantages`: reward functions",
            "sample metrics `reward.NAME`; the reward is their sum without weights, which a note says",
        ),
        ("`advantages`", "advantage"),
        ("other lists (`entropy`, `solution`, `rollout_infos`, ...)", "sample metrics, tags or extra"),
        ("`args.json`", "configuration: of it the update's rule (`loss_type`, `epsilon`, `beta`)"),
    )
    limits = "The lines hold no total reward, token ids, logprobs or status. Lines of evaluations carry no mark."

    def detect(self, path: Path, *, forced: bool = False, link_root: str = "") -> list[RunInfo]:
        found = super().detect(path, forced=forced, link_root=link_root)
        what = "lines with columns as lists; equal prompts of a step are inferred to be a group"
        reason = f"{what}, rewards are sums without weights"
        return [replace(run, name=_name_of(path) or run.name, reason=reason) for run in found]

    def fits(self, record: Record) -> bool:
        has_lists = all(isinstance(record.get(key), list) for key in TEXTS)
        return _is_row(record) or (has_lists and any(isinstance(record.get(key), list) for key in STEPS))

    def rows(self, source: Source, record: Record, start: int, length: int) -> list[Scanned]:
        """See `RecordFormat`: a sample for each place in the lists."""
        if _is_row(record):
            return [self._whole(source, record, start, length)]
        if not all(isinstance(record.get(key), list) for key in TEXTS):
            raise Unusable("an object without lists of prompts and completions is no log of completions")
        count = sample_count(record, "completion")
        return [self._part(source, record, start, length, number) for number in range(count)]

    def _whole(self, source: Source, record: Record, start: int, length: int) -> SampleRow:
        one = _with_step(record)
        step_of(one["step"])
        row = self.row(source, one, start, length)
        row.reward = fields.number(row.metrics.pop("reward", None))
        return row

    def _part(self, source: Source, record: Record, start: int, length: int, number: int) -> SampleRow:
        one = _row_at(record, number)
        step_of(one.get("step"))
        row = self.row(source, one, start, length)
        row.index, row.ordinal, row.part = f"{row.index}.{number}", start + number, str(number)
        return self.summed(row, _reward_names(record), one)

    def own_record(self, record: Record, row: SampleRow) -> Record:
        return _row_at(record, int(row.part)) if row.part else _with_step(record)

    def may_cut(self, key: str) -> bool:  # noqa: ARG002
        return False

    def sample(self, record: Record, row: SampleRow, locator: Locator) -> Sample:
        sample = super().sample(self.own_record(record, row), row, locator)
        if not row.part:  # its reward is the total
            sample.notes = [note for note in sample.notes if note != UNWEIGHTED]
            sample.extra.pop("reward", None)
        return sample

    def config(self, run: RunInfo) -> dict[str, Any]:
        folder = folder_of(run)
        return fields.as_dict(read_json(file_of(folder, "args.json", folder)))


def _name_of(path: Path) -> str:
    """The name of a run that is the file with the usual name: that of its folder. Empty for others."""
    return path.parent.name if plain_name(path.name) == NAME and is_one_file(path) else ""


def _is_row(record: Record) -> bool:
    """Return whether a line is a single sample, as ms-swift writes it with Ray."""
    return "gen_step" in record and all(isinstance(record.get(key), str) for key in TEXTS)


def _with_step(record: Record) -> Record:
    """A sample whose step is `step`, else `gen_step`."""
    if "step" in record or "gen_step" not in record:
        return record
    return {"step" if key == "gen_step" else key: value for key, value in record.items()}


def _row_at(record: Record, number: int) -> Record:
    """Return the values at one place of all lists, and all other members; lists of other lengths are left out."""
    count = len(record["completion"])
    row = columns_at(record, number, count)
    named = (*STEPS, *TEXTS)
    row |= {key: value[number] for key in named if isinstance(value := record.get(key), list) and number < len(value)}
    row = _with_step({"advantage" if key == "advantages" else key: value for key, value in row.items()})
    return row | ({"prompt": ""} if "prompt" not in row else {})


def _reward_names(record: Record) -> list[str]:
    """The lists of numbers behind the completion, up to the advantages."""
    names = list(record)
    first = names.index("completion") + 1
    stop = names.index("advantages") if "advantages" in names[first:] else first
    return [name for name in names[first:stop] if _is_numbers(record[name])]


def _is_numbers(values: object) -> bool:
    return isinstance(values, list) and all(value is None or fields.number(value) is not None for value in values)
