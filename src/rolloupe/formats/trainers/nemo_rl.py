"""The batches that NeMo-RL logs: a file of JSON lines a step, of training and of validation.

Source: `Logger.log_batched_dict_as_jsonl`. Every value but `idx` is a list of one element; token arrays cover prompt
and response, padded to the longest of the batch.
"""

import os
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from rolloupe import text, tokens
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.documents import ByEnding
from rolloupe.formats.reading.files import alone, file_of, is_one_file, plain_name, stem
from rolloupe.formats.reading.jsonl import JsonlFormat, PromptRuns
from rolloupe.formats.reading.line_reader import parse
from rolloupe.formats.reading.peek import look
from rolloupe.formats.reading.records import Record, Unusable
from rolloupe.formats.token_texts import add_tokens, ids_of, own_tokenizer, series_of, texts_of
from rolloupe.formats.trainers.nemo_gym import NemoGym
from rolloupe.model import Location, Locator, RunInfo, Sample, SampleRow, Source
from rolloupe.storage import is_file

IDS, MASK, LENGTH = "token_ids", "token_loss_mask", "input_lengths"
SERIES = {
    MASK: "loss_mask", "generation_logprobs": "logprobs", "prev_logprobs": "old_logprobs", "advantages": "advantages",
    "reference_policy_logprobs": "ref_logprobs", "values": "values", "returns": "returns",
}  # fmt: skip
"""Token arrays, and the common names of their series."""
SAMPLE_MASK = "sample_loss_mask"
TRAIN = "train_data_step"
"""Its lines may lack the ids, where NeMo-RL keeps batches elsewhere."""
COLLECTION = "trajectory_collection.jsonl"
"""Rollouts of NeMo-Gym, which NeMo-RL collects where `is_trajectory_collection` is set."""

_TRAIN, _VAL = {IDS, MASK, "rewards"}, {"content", "rewards", "idx"}
_PLACED = frozenset((*SERIES, IDS, LENGTH, "content", "rewards", "idx", "agent_ref", SAMPLE_MASK, "filtered_rewards"))


class LoggedBatches(PromptRuns):
    """Logged batches of NeMo-RL."""

    name = "nemo_rl"
    title = "NeMo-RL"
    decodes_ids = True
    series_in_samples = True
    recognises = "Lines with `token_ids`, `token_loss_mask` and `rewards`, or with `content`, `rewards` and `idx`."
    layout = (
        "`{log_dir}/exp_{NNN}/train_data_step{N}.jsonl` and `val_data_step{N}.jsonl`; `trajectory_collection.jsonl` "
        "beside them or alone. "
        "[frameworks/nemo_rl.md](frameworks/nemo_rl.md) has the switches."
    )
    identity = (
        "step = the file's number; group = a hash of the token ids before the first trained one, else of the prompt, "
        "as the samples of a prompt follow each other, and the byte at which these begin; index = `{file}:{byte "
        "offset}`. Split `train`, or "
        "`eval/validation` for lines without token ids. Collected rollouts are as those of NeMo-Gym, in the split "
        "`eval/trajectory_collection`."
    )
    reads = (
        ("`content`", "turns: the texts of a sample's turns, or messages; where it is empty, the decoded ids"),
        ("`rewards`, `filtered_rewards`", "the reward, a sample metric"),
        ("`token_ids`, `input_lengths`", "the tokens, without their padding"),
        ("`token_loss_mask`", "the token series `loss_mask`"),
        ("`generation_logprobs`, `prev_logprobs`", "the token series `logprobs`, `old_logprobs`"),
        ("`advantages`", "the token series `advantages`, and the advantage at the first trained token"),
        ("`sample_loss_mask`", "0 for a sample that was not trained on: it is discarded"),
        ("`agent_ref`", "environment"),
        ("`trajectory_collection.jsonl`", "samples as of NeMo-Gym"),
        ("any other key", "extra"),
    )
    limits = "The lines hold no group, status or ground truth, unlike `trajectory_collection.jsonl`."

    def fits(self, record: Record) -> bool:
        return record.keys() >= _TRAIN or (record.keys() >= _VAL and isinstance(record["content"], list))

    def prepared(self, run: RunInfo, record: Record) -> Record:
        """See `RecordFormat`: without the lists of one element, with the texts of ids where no others are."""
        plain = _unlisted(record)
        ids, first = _tokens(plain)
        texts = _texts(plain.get("content"))
        if not any(texts):
            texts = texts_of(run, ids, first)
        return plain | {
            "_texts": texts,
            "_ids": ids,
            "_first": first,
            "_has_text": bool(_texts(plain.get("content"))[1]),
        }

    def group_in(self, run: RunInfo, source: Source, data: bytes, start: int) -> str | None:  # noqa: ARG002
        """See `PromptRuns`: without the texts of ids."""
        plain = _unlisted(parse(data))
        ids, first = _tokens(plain)
        return _group(ids[:first], _texts(plain.get("content"))[0]) if "rewards" in plain else None

    def row(self, source: Source, record: Record, start: int, length: int) -> SampleRow:
        if "rewards" not in record:
            raise Unusable("a line without rewards is no sample")
        prompt, response = record["_texts"]
        ids, first = record["_ids"], record["_first"]
        filtered = fields.number(record.get("filtered_rewards"))
        has_ids = IDS in record
        is_train = has_ids or os.path.basename(source.name).startswith(TRAIN)
        return SampleRow(
            split="train" if is_train else "eval/validation",
            step=source.step or 0,
            group=_group(ids[:first], prompt),
            index=f"{stem(source.name)}:{start}",
            ordinal=start,
            start=start,
            length=length,
            reward=fields.number(record.get("rewards")),
            advantage=_first_advantage(record.get("advantages"), first),
            prompt_tokens=first if has_ids else None,
            response_tokens=len(ids) - first if has_ids else None,
            total_tokens=len(ids) if has_ids else None,
            env=_env(record.get("agent_ref")),
            discarded=SAMPLE_MASK if fields.number(record.get(SAMPLE_MASK)) == 0 else "",
            metrics={} if filtered is None else {"filtered_rewards": filtered},
            has_series=bool(tokens.length(record.get(MASK))),
            prompt=fields.joined(prompt),
            response=fields.joined(response, thoughts=True),
            messages=fields.chat(response),
        )

    def sample(self, record: Record, row: SampleRow, locator: Locator) -> Sample:
        prompt, response = record["_texts"]
        total, padded = len(record["_ids"]), tokens.length(record.get(IDS))
        arrays = {name: _cut(record.get(key), total, padded) for key, name in SERIES.items()}
        sample = fields.sample_of(row, locator, prompt, response)
        sample.series, sample.notes = series_of(arrays, total, record["_first"])
        rest = {key: value for key, value in record.items() if key not in _PLACED and not key.startswith("_")}
        sample.extra = {key: fields.showable(value) for key, value in rest.items()}
        return sample

    def annotate(self, run: RunInfo, record: Record, sample: Sample) -> None:
        """See `RecordFormat`: with its tokens."""
        add_tokens(run, sample, record["_ids"], record["_first"], has_text=record["_has_text"])

    def tokenizers(self, run: RunInfo) -> list[Location | str]:
        return own_tokenizer(run)


class NemoRL(ByEnding, LoggedBatches):
    """Logs of NeMo-RL: batches, and rollouts of NeMo-Gym collected without training."""

    def reader_of(self, source: Source) -> JsonlFormat:
        return _ROLLOUTS if _is_collection(source.path) else _BATCHES

    def detect(self, path: Path, *, forced: bool = False, link_root: str = "") -> list[RunInfo]:
        links = link_root or str(path.resolve())
        place = alone(path) if is_one_file(path) else file_of(str(path), COLLECTION, links)
        named = place is not None and _is_collection(place.path)
        is_collected = named and place is not None and any(map(_ROLLOUTS.fits, _ROLLOUTS.first_records([place])))
        return super().detect(path, forced=forced or is_collected, link_root=link_root)

    def sources(self, run: RunInfo) -> list[Source]:
        found = super().sources(run)
        listed = [
            source for source in found if is_file(run.root) or _is_collection(source.path) or _may_fit(source.location)
        ]
        return [
            replace(source, step=None, split=f"eval/{stem(COLLECTION)}") if _is_collection(source.path) else source
            for source in (listed or found)
        ]


_BATCHES, _ROLLOUTS = LoggedBatches(), NemoGym()


def _is_collection(path: str) -> bool:
    return plain_name(os.path.basename(path)) == COLLECTION


def _may_fit(place: Location) -> bool:
    found = look(place).objects
    return not found or any(map(_BATCHES.fits, found))


def _unlisted(record: Record) -> Record:
    """The values of a sample, without the lists of one element around them."""
    return {key: value[0] if isinstance(value, list) and len(value) == 1 else value for key, value in record.items()}


def _group(ids: list[int], prompt: Any) -> str:
    return fields.digest(repr(ids) if ids else fields.joined(prompt))


def _tokens(plain: Record) -> tuple[list[int], int]:
    """The ids of a sample without its padding, and where the first trained one stands."""
    ids = ids_of(plain.get(IDS))
    length = fields.count(plain.get(LENGTH))
    ids = ids[: len(ids) if length is None else length]
    mask = tokens.read_floats(plain.get(MASK))
    trained = mask is not None and mask[: len(ids)] > 0
    return ids, int(trained.argmax()) if isinstance(trained, np.ndarray) and trained.any() else len(ids)


def _cut(values: Any, total: int, padded: int | None) -> Any:
    """Return a token array without its padding, if the ids are padded as well; None if the value is no array."""
    length = tokens.length(values)
    return (values[:total] if length == padded else values) if length else None


def _texts(content: object) -> tuple[Any, Any]:
    """Prompt and response: of messages the response begins at the first answer, of texts behind the first."""
    if fields.is_messages(content) and isinstance(content, list):
        first = text.answer_at(content)
        return content[:first], content[first:]
    if isinstance(content, list):
        return fields.as_text(content[0]) if content else "", "".join(map(fields.as_text, content[1:]))
    return "", fields.as_text(content)


def _first_advantage(values: object, first: int) -> float | None:
    read = tokens.read_floats(values)
    if read is None:
        return fields.number(values)
    return float(read[first]) if first < len(read) else None


def _env(value: object) -> str:
    return fields.name(value.get("name") if isinstance(value, dict) else value) or ""
