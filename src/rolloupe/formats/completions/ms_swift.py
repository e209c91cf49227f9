"""The completions that ms-swift logs: one line of JSON a log, its columns as lists.

Source: `JsonlWriter` and the trainers of ms-swift 4.6 (`swift/rlhf_trainers/grpo_trainer.py`, `rollout_mixin.py`). The
columns are step, prompt, completion, a list for each reward function, advantages, then what the rollout added.
"""

from pathlib import Path
from typing import Any, ClassVar

from rolloupe.formats.completions.reward_parts import RewardParts
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.files import file_of, plain_name
from rolloupe.formats.reading.jsonl import JsonlFormat
from rolloupe.formats.reading.records import Record, Unusable, step_of
from rolloupe.formats.reading.tables.columns import sample_count
from rolloupe.formats.reading.trainer_files import read_json
from rolloupe.model import Locator, RunInfo, Sample, SampleRow, Scanned, Source
from rolloupe.storage import is_file

NAME = "completions.jsonl"
COLUMNS = ("step", "prompt", "completion")


class MsSwift(RewardParts, JsonlFormat):
    """Completions of ms-swift."""

    name = "ms_swift"
    title = "ms-swift"
    suffixes: ClassVar[tuple[str, ...]] = (NAME,)
    recognises = (
        "`completions.jsonl` whose lines hold lists of equal length under `step`, `prompt` and `completion`; also one "
        "such file under another name that a person names."
    )
    layout = (
        "`{output_dir}/completions.jsonl`, appended. [frameworks/ms_swift.md](frameworks/ms_swift.md) has the switches."
    )
    identity = (
        "step = `step`; group = a hash of the prompt, as the samples of a prompt follow each other; index = "
        "`{file}:{byte offset of the line}.{place in its lists}`. Split `train`."
    )
    reads = (
        ("`prompt`, `completion`", "turns"),
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
        """See `Format`."""
        found = super().detect(path, forced=forced, link_root=link_root)
        what = "lines with columns as lists; equal prompts of a step are inferred to be a group"
        return [
            RunInfo(
                name=run.name if not is_file(path) or plain_name(path.name) != NAME else path.parent.name or run.name,
                root=run.root, format=run.format, parts=run.parts, link_root=run.link_root,
                reason=f"{what}, rewards are sums without weights",
            )
            for run in found
        ]  # fmt: skip

    def fits(self, record: Record) -> bool:
        """See `RecordFormat`."""
        return all(isinstance(record.get(key), list) for key in COLUMNS)

    def rows(self, source: Source, record: Record, start: int, length: int) -> list[Scanned]:
        """See `RecordFormat`: a sample for each place in the lists."""
        if not all(isinstance(record.get(key), list) for key in COLUMNS[1:]):
            raise Unusable("an object without lists of prompts and completions is no log of completions")
        count = sample_count(record, "completion")
        return [self._part(source, record, start, length, number) for number in range(count)]

    def _part(self, source: Source, record: Record, start: int, length: int, number: int) -> SampleRow:
        one = _row_at(record, number)
        step_of(one.get("step"))
        row = self.row(source, one, start, length)
        row.index, row.ordinal, row.part = f"{row.index}.{number}", start + number, str(number)
        return self.summed(row, _reward_names(record), one)

    def own_record(self, record: Record, row: SampleRow) -> Record:
        """See `RecordFormat`."""
        return _row_at(record, int(row.part))

    def may_cut(self, key: str) -> bool:  # noqa: ARG002
        """See `RecordFormat`."""
        return False

    def sample(self, record: Record, row: SampleRow, locator: Locator) -> Sample:
        """See `RecordFormat`."""
        return super().sample(self.own_record(record, row), row, locator)

    def config(self, run: RunInfo) -> dict[str, Any]:
        """See `Format`."""
        folder = str(Path(run.root).parent if is_file(run.root) else run.root)
        found = read_json(file_of(folder, "args.json", folder))
        return found if isinstance(found, dict) else {}


def _row_at(record: Record, number: int) -> Record:
    """The values of all lists at one place; what is no list of that length is left out."""
    count = len(record["completion"])
    row = {
        "advantage" if key == "advantages" else key: value[number]
        for key, value in record.items()
        if isinstance(value, list) and number < len(value) and (len(value) == count or key in COLUMNS)
    }
    return row | ({"prompt": ""} if "prompt" not in row else {})


def _reward_names(record: Record) -> list[str]:
    """The lists of numbers behind the completion, up to the advantages."""
    names = list(record)
    first = names.index("completion") + 1
    stop = names.index("advantages") if "advantages" in names[first:] else first
    return [name for name in names[first:stop] if _is_numbers(record[name])]


def _is_numbers(values: object) -> bool:
    return isinstance(values, list) and all(value is None or fields.number(value) is not None for value in values)
