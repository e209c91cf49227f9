"""Relax's rollout results: `rollout_result/{train,eval}/{rollout_id}.jsonl`, one line for each sample.

Source: `relax/utils/training/train_dump_utils.py` and `relax/utils/multimodal/stats.py` of Relax, as of July 2026. Keys
and their order are Relax's own. Unlike Relax, this module renames a whole file into place, and writes NaN and
infinities as null, because Relax's viewer cannot show a step with a NaN.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from rolloupe.model import Sample
from rolloupe.record.failures import Guard
from rolloupe.record.lines import encoded, listed
from rolloupe.record.plain import has, member, whole_number
from rolloupe.record.writers import Left, Writer
from rolloupe.storage.atomic import append, replacing

KEYS = (
    "rollout_id", "sample_index", "prompt", "response", "reward", "prompt_length", "response_length", "total_length",
    "prompt_token_count", "response_token_count", "total_token_count", "image_count", "image_token_count",
    "multimodal_token_count", "agent_turns", "status", "group_index", "weight_versions", "label", "multimodal_inputs",
    "multimodal_train_inputs", "dataset", "latency_trace",
)  # fmt: skip
"""The keys of a row, in order."""

MERGED_PATCHES = 4
"""How many patches of its grid make one token of an image."""

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

    def rows() -> Rows:
        for index, sample in enumerate(samples):
            yield sample, index, None

    guard = Guard(f"Relax's results of step {rollout_id}", strict=strict)
    guard.call(lambda: _save(path, "train", rollout_id, rows(), strict=strict), None)


def save_eval_summary_jsonl(path: Any, rollout_id: int, data: Mapping[str, Any], *, strict: bool = False) -> None:
    """Write the samples of an evaluation to `{path}/eval/{rollout_id}.jsonl`, all data sets in one file.

    `data` maps the name of each data set to `{"samples": [...]}` or to the samples themselves, numbered from 0 in each.
    The other arguments are those of `save_rollout_result_jsonl`.
    """

    def rows() -> Rows:
        for name, info in data.items():
            samples = info.get("samples") if isinstance(info, Mapping) else info
            for index, sample in enumerate(samples or ()):
                yield sample, index, str(name)

    guard = Guard(f"Relax's evaluation of step {rollout_id}", strict=strict)
    guard.call(lambda: _save(path, "eval", rollout_id, rows(), strict=strict), None)


Rows = Iterable[tuple[Any, int, str | None]]
"""Samples with their number and data set."""


def _save(path: Any, folder: str, rollout_id: int, rows: Rows, *, strict: bool) -> None:
    place = getattr(path, "rollout_result_dir", path)
    if place is None or place == "":
        return
    step = whole_number(rollout_id)
    target = Path(place) if Path(place).suffix == ".jsonl" else Path(place) / folder / f"{step}.jsonl"
    guard = Guard(f"Relax's results of step {step}", strict=strict)
    with replacing(target) as file:
        for sample, index, dataset in rows:
            try:
                if not (has(sample, "prompt") or has(sample, "response")):
                    what = type(sample).__name__
                    raise TypeError(f"{what} is not a sample: it has no prompt and response")  # noqa: TRY301
                line = encoded(record_of(sample, step, index, dataset))
            except Exception as error:
                guard.left_out(f"sample {index}", error)
            else:
                file.write(line)
        guard.tell_total()


def record_of(sample: Any, rollout_id: int, index: int, dataset: str | None = None) -> dict[str, Any]:
    """Return the row of a sample, in Relax's form."""
    tokens = member(sample, "tokens")
    total = len(tokens) if tokens is not None else int(member(sample, "total_length") or 0)
    response = int(member(sample, "response_length") or 0)
    prompt = max(total - response, 0)
    metadata = member(sample, "metadata") or {}
    status = member(sample, "status")
    status = getattr(status, "value", status)
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
        "status": None if status is None else str(status),
        "group_index": listed(member(sample, "group_index")),
    }
    versions = member(sample, "weight_versions")
    further = {"weight_versions": None if versions is None else list(versions), "label": member(sample, "label")}
    for name, summarised in (("multimodal_inputs", summary), ("multimodal_train_inputs", train_summary)):
        inputs = member(sample, name)
        is_named = isinstance(inputs, Mapping)
        further[name] = {str(key): summarised(value) for key, value in inputs.items()} if is_named else None
    further |= {"dataset": dataset, "latency_trace": _latency_trace(metadata)}
    return row | {key: value for key, value in further.items() if value is not None}


def _get(metadata: Any, key: str, otherwise: Any) -> Any:
    return metadata.get(key, otherwise) if isinstance(metadata, Mapping) else otherwise


def summary(value: Any) -> Any:
    """Summarise an input of images, videos or audio as Relax does: an image by its text, else the names of types.

    An empty list becomes the number 0.
    """
    if not isinstance(value, list):
        return type(value).__name__
    shown = []
    for item in value:
        is_image = any(kind.__module__.partition(".")[0] == "PIL" for kind in type(item).__mro__)
        shown.append(str(item) if is_image else type(item).__name__)
    return shown or 0


def train_summary(value: Any) -> Any:
    """Summarise a processed input: shape and type of each tensor, or else the name of the type."""
    items = value if isinstance(value, list) else [value]
    if not items or not all(hasattr(item, name) for item in items for name in ("shape", "dtype", "detach")):
        return type(value).__name__
    shapes = [f"Tensor(shape={list(item.shape)}, dtype={item.dtype})" for item in items]
    return shapes if isinstance(value, list) else shapes[0]


def _multimodal_counts(sample: Any) -> dict[str, int]:
    """Count images, their tokens, and the tokens of images, videos and audio together."""
    given = member(sample, "multimodal_train_inputs")
    inputs = [given] if isinstance(given, Mapping) else [item for item in given or () if isinstance(item, Mapping)]
    grids = [_grid(item, "image_grid_thw") for item in inputs]
    images = sum(map(sum, grids))
    others = sum(sum(_grid(item, "video_grid_thw")) + _audio(item) for item in inputs)
    image_count = sum(map(len, grids))
    raw = member(sample, "multimodal_inputs")
    for key in ("image", "images"):
        if isinstance(raw, Mapping) and (stored := raw.get(key)) is not None and stored != []:
            image_count = len(stored) if isinstance(stored, list) else 1
    return {"image_count": image_count, "image_token_count": images, "multimodal_token_count": images + others}


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
    """Return the timings of an agent that Relax keeps; None without timings of the reward."""
    trace = _get(metadata, "agentic_trace", None)
    reward = _get(trace, "reward", None)
    if not isinstance(reward, Mapping):
        return None
    turns = trace.get("turns")
    turns = [turn for turn in turns if isinstance(turn, Mapping)] if isinstance(turns, list) else []
    timings = ("generation_elapsed_s", "wall_elapsed_s", "events")
    kept: dict[str, Any] = {
        "events": trace.get("events", {}),
        "reward": reward,
        "turns": [{key: turn[key] for key in timings if key in turn} for turn in turns],
    }
    count = trace.get("per_turn_assistant_turn_count")
    if isinstance(count, int) and not isinstance(count, bool):
        kept["per_turn_assistant_turn_count"] = count
    if trace.get("reasoning_trigger") == "per_turn":
        kept["per_turn_off_lineage_judge_count"] = trace.get("per_turn_off_lineage_judge_count", 0)
    return kept


class RelaxWriter(Writer):
    """Writes samples of any format. Values without a key in Relax follow its keys, if they are short enough."""

    name: ClassVar[str] = "relax"

    def __init__(self, path: Path) -> None:
        self.path = path
        self._begun: set[Path] = set()

    def write(self, split: str, step: int, samples: Iterable[Sample]) -> Left:
        from rolloupe.formats.relax import Relax
        from rolloupe.record.writers.comparison import Tally, extended, free_number, number_in, read_back

        tally = Tally()
        reader, folder = Relax(), "train" if split == "train" else "eval"
        name = f"{folder}/{step}.jsonl"
        target = self.path / name
        numbers: set[int] = set()
        for sample in samples:
            if not 0 <= step <= MAX_STEP:
                tally.found["samples of steps that are below 0 or too large"] += 1
                continue
            record = _of_model(sample, step, free_number(number_in(sample.row.index), numbers))
            record = extended(record, sample, read_back(reader, record, name, folder, step), KEYS)
            record = {key: record[key] for key in KEYS if key in record} | record
            if target not in self._begun:
                target.unlink(missing_ok=True)
                self._begun.add(target)
            append(target, encoded(record))
            tally.compare(sample, read_back(reader, record, name, folder, step))
        return tally.found


_WORDS = {"error": "failed", "unknown": None}
"""Relax's own words for statuses."""


def _of_model(sample: Sample, step: int, number: int) -> dict[str, Any]:
    from rolloupe.formats.reading import value_parsers as parsers
    from rolloupe.record.writers.comparison import number_in, own_status
    from rolloupe.record.writers.texts import prompt_of, response_of

    row = sample.row
    counts = {"prompt": row.prompt_tokens, "response": row.response_tokens, "total": row.total_tokens}
    parts = {key.removeprefix("reward."): part for key, part in row.metrics.items() if key.startswith("reward.")}
    whole = {**parts, **row.tags}  # a reward that was an object becomes one again
    is_whole = parts and parsers.reward(whole).value == row.reward
    named = number_in(row.group)
    group = row.group if named is None else named
    record: dict[str, Any] = {
        "rollout_id": step, "sample_index": number, "prompt": prompt_of(sample, messages=True),
        "response": response_of(sample), "reward": whole if is_whole else row.reward,
        **{f"{what}_length": count for what, count in counts.items()},
        **{f"{what}_token_count": count for what, count in counts.items() if count is not None},
        "agent_turns": row.turns, "status": own_status(row) or _WORDS.get(row.status, row.status),
        "group_index": None if row.group == parsers.digest(sample.prompt_text) else group,
    }  # fmt: skip
    for key in ("image_count", "image_token_count", "multimodal_token_count"):
        if (value := row.metrics.get(key)) is not None:
            record[key] = int(value) if float(value).is_integer() else value
    kept = ("weight_versions", "multimodal_inputs", "multimodal_train_inputs", "latency_trace")
    record |= {key: sample.extra[key] for key in kept if key in sample.extra}
    if sample.label:
        record["label"] = sample.label
    dataset = row.split.removeprefix("eval/") if row.split != "train" else row.env
    if dataset and not (dataset == NO_DATASET and not row.env):
        record["dataset"] = dataset
    return record
