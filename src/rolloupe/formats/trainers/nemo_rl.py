"""The batches that NeMo-RL logs: a file of JSON lines a step, of training and of validation.

Source: `Logger.log_batched_dict_as_jsonl`. Every value but `idx` is a list of one element; token arrays cover prompt
and response, padded to the longest of the batch.
"""

from typing import Any

import numpy as np

from rolloupe import tokens
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.files import files, links_of, stem
from rolloupe.formats.reading.jsonl import JsonlFormat
from rolloupe.formats.reading.peek import look
from rolloupe.formats.reading.records import Record, Unusable
from rolloupe.formats.trainers.token_rows import add_tokens, ids_of, series_of, texts_of
from rolloupe.model import Location, Locator, RunInfo, Sample, SampleRow, Source
from rolloupe.storage import is_file
from rolloupe.tokenizer import find_tokenizer

IDS, MASK, LENGTH = "token_ids", "token_loss_mask", "input_lengths"
SERIES = {
    MASK: "loss_mask", "generation_logprobs": "logprobs", "prev_logprobs": "old_logprobs", "advantages": "advantages",
    "reference_policy_logprobs": "ref_logprobs", "values": "values", "returns": "returns",
}  # fmt: skip
"""Token arrays, and the common names of their series."""
SAMPLE_MASK = "sample_loss_mask"

_TRAIN, _VAL = {IDS, MASK, "rewards"}, {"content", "rewards", "idx"}
_PLACED = frozenset((*SERIES, IDS, LENGTH, "content", "rewards", "idx", "agent_ref", SAMPLE_MASK, "filtered_rewards"))


class NemoRL(JsonlFormat):
    """Logged batches of NeMo-RL."""

    name = "nemo_rl"
    title = "NeMo-RL"
    decodes_ids = True
    series_in_samples = True
    recognises = "Lines with `token_ids`, `token_loss_mask` and `rewards`, or with `content`, `rewards` and `idx`."
    layout = (
        "`{log_dir}/exp_{NNN}/train_data_step{N}.jsonl` and `val_data_step{N}.jsonl`. "
        "[frameworks/nemo_rl.md](frameworks/nemo_rl.md) has the switches."
    )
    identity = (
        "step = the file's number; group = a hash of the token ids before the first trained one, else of the prompt, "
        "as the samples of a prompt follow each other; index = `{file}:{byte offset}`. Split `train`, or "
        "`eval/validation` for lines without token ids."
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
        ("any other key", "extra"),
    )
    limits = "The lines hold no group, status or ground truth. `trajectory_collection.jsonl` beside them is not read."

    def fits(self, record: Record) -> bool:
        """See `RecordFormat`."""
        return record.keys() >= _TRAIN or (record.keys() >= _VAL and isinstance(record["content"], list))

    def sources(self, run: RunInfo) -> list[Source]:
        """See `Format`."""
        if is_file(run.root):
            return super().sources(run)
        listed = {one.path for one in files(run.root, links_of(run)) if self._may_fit(one.location)}
        return [source for source in super().sources(run) if source.path in listed or run.reading.format]

    def _may_fit(self, place: Location) -> bool:
        found = look(place).objects
        return not found or any(map(self.fits, found))

    def prepared(self, run: RunInfo, record: Record) -> Record:
        """See `RecordFormat`: without the lists of one element, with the texts of ids where no others are."""
        one = {key: value[0] if _is_one(value) else value for key, value in record.items()}
        ids, first = _tokens(one)
        texts = _texts(one.get("content"))
        if not any(texts):
            texts = texts_of(run, ids, first)
        return one | {"_texts": texts, "_ids": ids, "_first": first, "_has_text": bool(_texts(one.get("content"))[1])}

    def row(self, source: Source, record: Record, start: int, length: int) -> SampleRow:
        """See `RecordFormat`."""
        if "rewards" not in record:
            raise Unusable("a line without rewards is no sample")
        prompt, response = record["_texts"]
        ids, first = record["_ids"], record["_first"]
        filtered = fields.number(record.get("filtered_rewards"))
        is_train = IDS in record
        return SampleRow(
            split="train" if is_train else "eval/validation",
            step=source.step or 0,
            group=fields.digest(repr(ids[:first]) if first else fields.joined(prompt)),
            index=f"{stem(source.name)}:{start}",
            ordinal=start,
            start=start,
            length=length,
            reward=fields.number(record.get("rewards")),
            advantage=_first_advantage(record.get("advantages"), first),
            prompt_tokens=first if is_train else None,
            response_tokens=len(ids) - first if is_train else None,
            total_tokens=len(ids) if is_train else None,
            env=_env(record.get("agent_ref")),
            discarded=SAMPLE_MASK if fields.number(record.get(SAMPLE_MASK)) == 0 else "",
            metrics={} if filtered is None else {"filtered_rewards": filtered},
            has_series=bool(tokens.length(record.get(MASK))),
            prompt=fields.joined(prompt),
            response=fields.joined(response, thoughts=True),
            messages=fields.chat(response),
        )

    def sample(self, record: Record, row: SampleRow, locator: Locator) -> Sample:
        """See `RecordFormat`."""
        prompt, response = record["_texts"]
        total = len(record["_ids"])
        arrays = {name: _cut(record.get(key), total) for key, name in SERIES.items()}
        return Sample(
            key=row.key,
            row=row,
            locator=locator,
            turns=fields.prompt_turns(prompt) + fields.response_turns(response),
            prompt_text=row.prompt,
            response_text=row.response,
            prompt_messages=fields.messages(prompt),
            response_messages=fields.chat(response),
            series=series_of(arrays, total),
            extra={
                key: fields.showable(value)
                for key, value in record.items()
                if key not in _PLACED and not key.startswith("_")
            },
        )

    def annotate(self, run: RunInfo, record: Record, sample: Sample) -> None:
        """See `RecordFormat`: with its tokens."""
        add_tokens(run, sample, record["_ids"], record["_first"], has_text=record["_has_text"])

    def tokenizers(self, run: RunInfo) -> list[Location | str]:
        """See `Format`."""
        found = None if is_file(run.root) else find_tokenizer(Location(run.root, links_of(run)))
        return [found] if found else []


def _is_one(value: object) -> bool:
    return isinstance(value, list) and len(value) == 1


def _tokens(one: Record) -> tuple[list[int], int]:
    """The ids of a sample without its padding, and where the first trained one stands."""
    ids = ids_of(one.get(IDS))
    length = fields.count(one.get(LENGTH))
    ids = ids[: len(ids) if length is None else length]
    mask = tokens.read_floats(one.get(MASK))
    trained = mask is not None and mask[: len(ids)] > 0
    return ids, int(trained.argmax()) if isinstance(trained, np.ndarray) and trained.any() else len(ids)


def _cut(values: Any, total: int) -> Any:
    """A token array without its padding; None for what is no array."""
    return values[:total] if tokens.length(values) else None


def _texts(content: object) -> tuple[Any, Any]:
    """Prompt and response: of messages the response begins at the first answer, of texts behind the first."""
    if fields.is_messages(content) and isinstance(content, list):
        first = next((n for n, one in enumerate(content) if one.get("role") == "assistant"), len(content))
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
