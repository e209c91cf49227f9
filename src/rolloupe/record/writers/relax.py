"""Relax's rollout results: `rollout_result/{train,eval}/{rollout_id}.jsonl`, one line for each sample.

Source: `relax/utils/training/train_dump_utils.py` and `relax/utils/multimodal/stats.py` of Relax, as of July 2026. Keys
and their order are Relax's own. Unlike Relax, this module renames a whole file into place, and writes NaN and
infinities as null, because Relax's own viewer shows nothing of a step with a NaN.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from rolloupe.model import Sample
from rolloupe.record.failures import Guard, LeftOut
from rolloupe.record.lines import encoded, listed
from rolloupe.record.plain import has, member, whole_number
from rolloupe.record.writers.base import Left, Writer
from rolloupe.storage.atomic import append, replacing

KEYS = (
    "rollout_id", "sample_index", "prompt", "response", "reward", "prompt_length", "response_length", "total_length",
    "prompt_token_count", "response_token_count", "total_token_count", "image_count", "image_token_count",
    "multimodal_token_count", "agent_turns", "status", "group_index", "weight_versions", "label", "multimodal_inputs",
    "multimodal_train_inputs", "dataset", "latency_trace",
)  # fmt: skip
"""The keys of a row, in order."""

MERGED_PATCHES = 4
"""An image has one token for this many patches of its grid."""

MAX_STEP = 2**53
NO_DATASET = "default"


def save_rollout_result_jsonl(path: Any, rollout_id: int, samples: Iterable[Any], *, strict: bool = False) -> None:
    """Write the samples of a training step to `{path}/train/{rollout_id}.jsonl`.

    Args:
        path: the folder `rollout_result`, or Relax's `args`, which name it as `rollout_result_dir`; None writes
            nothing. A path that ends in `.jsonl` is the file itself.
        rollout_id: the step.
        samples: objects with the attributes of Relax's `Sample`, or dicts with such keys: `prompt`, `response`,
            `reward`, `tokens` (of prompt and response), `response_length`, `status`, `group_index`, `label`,
            `metadata`, `weight_versions`, `multimodal_inputs`, `multimodal_train_inputs`.
        strict: raise errors; by default they are logged, as in Relax.
    """
    guard = Guard(f"Relax's results of step {rollout_id}", strict=strict)
    guard.call(lambda: _save(path, "train", rollout_id, _numbered(samples), strict=strict), None)


def save_eval_summary_jsonl(path: Any, rollout_id: int, data: Mapping[str, Any], *, strict: bool = False) -> None:
    """Write the samples of an evaluation to `{path}/eval/{rollout_id}.jsonl`, all data sets in one file.

    `data` maps the name of each data set to `{"samples": [...]}` or to the samples themselves, numbered from 0 in each.
    The other arguments are those of `save_rollout_result_jsonl`.
    """
    guard = Guard(f"Relax's evaluation of step {rollout_id}", strict=strict)
    guard.call(lambda: _save(path, "eval", rollout_id, _of_data_sets(data), strict=strict), None)


Rows = Iterable[tuple[Any, int, str | None]]
"""Samples with their number and data set."""


def _numbered(samples: Iterable[Any]) -> Rows:
    for index, sample in enumerate(samples):
        yield sample, index, None


def _of_data_sets(data: Mapping[str, Any]) -> Rows:
    for name, info in data.items():
        samples = info.get("samples") if isinstance(info, Mapping) else info
        for index, sample in enumerate(samples or ()):
            yield sample, index, str(name)


def _save(path: Any, folder: str, rollout_id: int, rows: Rows, *, strict: bool) -> None:
    place = getattr(path, "rollout_result_dir", path)
    if place is None or place == "":
        return
    whole = Path(place)
    step = whole_number(rollout_id)
    target = whole if whole.suffix == ".jsonl" else whole / folder / f"{step}.jsonl"
    with replacing(target) as file:
        file.writelines(_lines(rows, step, strict=strict))


def _lines(rows: Rows, rollout_id: int, *, strict: bool) -> Iterator[bytes]:
    """Yield the rows as lines; if a sample cannot be written, only its own line is lost."""
    left_out = LeftOut(f"Relax's results of step {rollout_id}", strict=strict)
    for sample, index, dataset in rows:
        try:
            yield encoded(record_of(_checked(sample), rollout_id, index, dataset))
        except Exception as error:
            left_out.met(f"sample {index}", error)
    left_out.tell()


def _checked(sample: Any) -> Any:
    """Raise `TypeError` unless this is a sample."""
    if not (has(sample, "prompt") or has(sample, "response")):
        raise TypeError(f"{type(sample).__name__} is not a sample: it has no prompt and response")
    return sample


def record_of(sample: Any, rollout_id: int, index: int, dataset: str | None = None) -> dict[str, Any]:
    """Return the row of one sample, in Relax's form."""
    total, response = _lengths(sample)
    prompt = max(total - response, 0)
    metadata = member(sample, "metadata") or {}
    row = {
        "rollout_id": rollout_id,
        "sample_index": index,
        "prompt": member(sample, "prompt"),
        "response": member(sample, "response"),
        "reward": listed(member(sample, "reward")),
        "prompt_length": prompt,
        "response_length": response,
        "total_length": total,
        "prompt_token_count": prompt,
        "response_token_count": response,
        "total_token_count": total,
        **_multimodal_counts(sample),
        "agent_turns": _get(metadata, "rollout_turns", 1),
        "status": _status(member(sample, "status")),
        "group_index": listed(member(sample, "group_index")),
    }
    versions = member(sample, "weight_versions")
    if versions is not None:
        row["weight_versions"] = list(versions)
    if (label := member(sample, "label")) is not None:
        row["label"] = label
    if isinstance(inputs := member(sample, "multimodal_inputs"), Mapping):
        row["multimodal_inputs"] = {str(key): summary(value) for key, value in inputs.items()}
    if isinstance(inputs := member(sample, "multimodal_train_inputs"), Mapping):
        row["multimodal_train_inputs"] = {str(key): train_summary(value) for key, value in inputs.items()}
    if dataset is not None:
        row["dataset"] = dataset
    if (trace := _latency_trace(metadata)) is not None:
        row["latency_trace"] = trace
    return row


def _lengths(sample: Any) -> tuple[int, int]:
    """Return the number of tokens in all, and of the response."""
    tokens = member(sample, "tokens")
    total = len(tokens) if tokens is not None else int(member(sample, "total_length") or 0)
    return total, int(member(sample, "response_length") or 0)


def _status(status: Any) -> str | None:
    word = getattr(status, "value", status)
    return None if word is None else str(word)


def _get(metadata: Any, key: str, otherwise: Any) -> Any:
    return metadata.get(key, otherwise) if isinstance(metadata, Mapping) else otherwise


def summary(value: Any) -> Any:
    """Summarise an input of images, videos or audio in Relax's words: an image's description, else names of types.

    An empty list becomes the number 0. The data itself is never kept.
    """
    if not isinstance(value, list):
        return type(value).__name__
    return [str(one) if _is_image(one) else type(one).__name__ for one in value] or 0


def train_summary(value: Any) -> Any:
    """Summarise a processed input: shape and type of a tensor, or of each in a list, else the name of the type."""
    if _is_tensor(value):
        return _shape(value)
    if isinstance(value, list) and value and all(map(_is_tensor, value)):
        return [_shape(one) for one in value]
    return type(value).__name__


def _is_image(value: Any) -> bool:
    return any(kind.__module__.partition(".")[0] == "PIL" for kind in type(value).__mro__)


def _is_tensor(value: Any) -> bool:
    return all(hasattr(value, name) for name in ("shape", "dtype", "detach"))


def _shape(value: Any) -> str:
    return f"Tensor(shape={list(value.shape)}, dtype={value.dtype})"


def _multimodal_counts(sample: Any) -> dict[str, int]:
    """Count images, tokens of images, and tokens of images, videos and audio together."""
    train_inputs = member(sample, "multimodal_train_inputs")
    inputs = [
        one
        for one in ([train_inputs] if isinstance(train_inputs, Mapping) else train_inputs or ())
        if isinstance(one, Mapping)
    ]
    images = sum(sum(_grid(one, "image_grid_thw")) for one in inputs)
    others = sum(sum(_grid(one, "video_grid_thw")) + _audio(one) for one in inputs)
    return {
        "image_count": _images(member(sample, "multimodal_inputs"), inputs),
        "image_token_count": images,
        "multimodal_token_count": images + others,
    }


def _images(raw: Any, inputs: Sequence[Mapping[str, Any]]) -> int:
    for key in ("images", "image"):
        if isinstance(raw, Mapping) and (found := raw.get(key)) is not None and found != []:
            return len(found) if isinstance(found, list) else 1
    return sum(len(_grid(one, "image_grid_thw")) for one in inputs)


def _grid(inputs: Mapping[str, Any], key: str) -> list[int]:
    """Return the number of tokens of each image or video, from its patches in time, height and width."""
    grid = listed(inputs.get(key))
    if not isinstance(grid, list):
        return []
    return [int(t) * int(h) * int(w) // MERGED_PATCHES for t, h, w in grid]


def _audio(inputs: Mapping[str, Any]) -> int:
    lengths = listed(inputs.get("audio_seqlens"))
    if isinstance(lengths, list):
        return sum(int(length) for length in lengths)
    mask = listed(inputs.get("feature_attention_mask"))
    return sum(sum(map(int, row)) for row in mask) if isinstance(mask, list) else 0


def _latency_trace(metadata: Any) -> dict[str, Any] | None:
    """Return the timings of an agent that Relax keeps; None if they lack the reward's."""
    trace = _get(metadata, "agentic_trace", None)
    reward = _get(trace, "reward", None)
    if not isinstance(reward, Mapping):
        return None
    turns = trace.get("turns")
    timings = ("generation_elapsed_s", "wall_elapsed_s", "events")
    found: dict[str, Any] = {
        "events": trace.get("events", {}),
        "reward": reward,
        "turns": [
            {key: turn[key] for key in timings if key in turn}
            for turn in (turns if isinstance(turns, list) else [])
            if isinstance(turn, Mapping)
        ],
    }
    count = trace.get("per_turn_assistant_turn_count")
    if isinstance(count, int) and not isinstance(count, bool):
        found["per_turn_assistant_turn_count"] = count
    if trace.get("reasoning_trigger") == "per_turn":
        found["per_turn_off_lineage_judge_count"] = trace.get("per_turn_off_lineage_judge_count", 0)
    return found


class RelaxWriter(Writer):
    """Writes samples of any format. Values without a key in Relax follow its keys, if they are short enough."""

    name: ClassVar[str] = "relax"

    def __init__(self, path: Path) -> None:
        self._path = path
        self._begun: set[Path] = set()

    def write(self, split: str, step: int, samples: Iterable[Sample]) -> Left:
        from rolloupe.record.writers.comparison import Tally

        tally = Tally()
        folder = "train" if split == "train" else "eval"
        target = self._path / folder / f"{step}.jsonl"
        numbers: set[int] = set()
        for sample in samples:
            if not 0 <= step <= MAX_STEP:
                tally.add_whole("samples of steps that are below 0 or too large")
                continue
            number = free_number(sample.row.index, numbers)
            record, copy = _fitted(sample, folder, step, number)
            if target not in self._begun:
                target.unlink(missing_ok=True)
                self._begun.add(target)
            append(target, encoded(record))
            tally.compare(sample, copy)
        return tally.found


def free_number(index: str, numbers: set[int]) -> int:
    """Return the sample's own number if it is free, else the next free one; adds it to `numbers`."""
    number = (
        int(index) if index.isdecimal() and index.isascii() and len(index) < 16 and str(int(index)) == index else None
    )
    if number is None or number in numbers:
        number = next(free for free in range(len(numbers), 2 * len(numbers) + 1) if free not in numbers)
    numbers.add(number)
    return number


def _fitted(sample: Sample, folder: str, step: int, number: int) -> tuple[dict[str, Any], Sample | None]:
    """Return the row of a sample, and the sample that Rolloupe reads from it."""
    from rolloupe.formats.relax import Relax
    from rolloupe.record.writers.comparison import extended, read_back

    reader, file = Relax(), f"{folder}/{step}.jsonl"
    record = _of_model(sample, step, number)
    record = extended(record, sample, read_back(reader, record, file, folder, step), KEYS)
    ordered = {key: record[key] for key in KEYS if key in record} | record
    return ordered, read_back(reader, ordered, file, folder, step)


def _of_model(sample: Sample, step: int, number: int) -> dict[str, Any]:
    from rolloupe.record.writers.texts import prompt_of, response_of

    row = sample.row
    counts = {"prompt": row.prompt_tokens, "response": row.response_tokens, "total": row.total_tokens}
    record: dict[str, Any] = {
        "rollout_id": step, "sample_index": number, "prompt": prompt_of(sample, messages=True),
        "response": response_of(sample), "reward": _reward(sample),
        **{f"{what}_length": count for what, count in counts.items()},
        **{f"{what}_token_count": count for what, count in counts.items() if count is not None},
        "agent_turns": row.turns, "status": _word(sample), "group_index": _group(sample),
    }  # fmt: skip
    for key in ("image_count", "image_token_count", "multimodal_token_count"):
        if (value := row.metrics.get(key)) is not None:
            record[key] = int(value) if float(value).is_integer() else value
    for key in ("weight_versions", "multimodal_inputs", "multimodal_train_inputs", "latency_trace"):
        if key in sample.extra:
            record[key] = sample.extra[key]
    if sample.label:
        record["label"] = sample.label
    dataset = row.split.removeprefix("eval/") if row.split != "train" else row.env
    if dataset and not (dataset == NO_DATASET and not row.env):
        record["dataset"] = dataset
    return record


def _reward(sample: Sample) -> Any:
    """Return the reward, as an object if it was one: of parts `reward.NAME` and of tags."""
    from rolloupe.formats.reading import fields

    row = sample.row
    parts = {key.removeprefix("reward."): part for key, part in row.metrics.items() if key.startswith("reward.")}
    whole = {**parts, **row.tags}
    return whole if parts and fields.reward(whole).value == row.reward else row.reward


_WORDS = {"error": "failed", "unknown": None}


def _word(sample: Sample) -> str | None:
    """Return the framework's own word for the status if Rolloupe reads it as this status; else Relax's."""
    from rolloupe.record.writers.comparison import own_status

    return own_status(sample.row) or _WORDS.get(sample.row.status, sample.row.status)


def _group(sample: Sample) -> str | int | None:
    """Return the group, as a number if it is one; null if it follows from the prompt alone."""
    from rolloupe.formats.reading import fields

    group = sample.row.group
    if group == fields.digest(sample.prompt_text):
        return None
    is_number = group.isdecimal() and group.isascii() and len(group) < 16 and str(int(group)) == group
    return int(group) if is_number else group
