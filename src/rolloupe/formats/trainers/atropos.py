"""The scored groups of an environment of Atropos: a line for each group, with a list for each field.

Source: `BaseEnv.handle_send_to_api`, which writes the group that it sends to the trainer. A mask repeats the ids of the
trained tokens and has -100 elsewhere; `inference_logprobs` are meaningless there.
"""

from typing import Any

import numpy as np

from rolloupe import text, tokens
from rolloupe.formats.generic.keys import candidates
from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.formats.reading.documents import sample_count
from rolloupe.formats.reading.files import stem
from rolloupe.formats.reading.jsonl import JsonlFormat
from rolloupe.formats.reading.records import Record, Unusable
from rolloupe.formats.token_texts import add_tokens, ids_of, own_tokenizer, series_of, texts_of
from rolloupe.model import Location, Locator, RunInfo, Sample, SampleRow, Scanned, Source

SCORES, TOKENS, MASKS, MESSAGES = "scores", "tokens", "masks", "messages"
TEXTS = "rolloupe.texts"
UNTRAINED = -100
SERIES = {"inference_logprobs": "logprobs", "ref_logprobs": "ref_logprobs", "advantages": "advantages"}
OF_SAMPLE = ("overrides", "images", "distill_token_ids", "distill_logprobs")
"""Other lists with an element for each sample."""
_PLACED = {SCORES, TOKENS, MASKS, MESSAGES, *SERIES, *OF_SAMPLE}
_OWN = {SCORES, TOKENS, MASKS}
_TOLD_ELSEWHERE = {"step", "group", "label", "env", "status_key"}


class Atropos(JsonlFormat):
    """Groups of Atropos."""

    name = "atropos"
    title = "Atropos"

    def fits(self, record: Record) -> bool:
        others = candidates(tuple(record)).by_role.keys() & _TOLD_ELSEWHERE  # another log of groups has such keys
        return not others and all(isinstance(record.get(key), list) for key in _OWN)

    def prepared(self, run: RunInfo, record: Record) -> Record:
        """See `RecordFormat`: with the texts of ids if it has no messages."""
        if not self.fits(record) or isinstance(record.get(MESSAGES), list):
            return record
        found = [_tokens(record, number) for number in range(min(sample_count(record, SCORES), len(record[TOKENS])))]
        return record | {TEXTS: [texts_of(run, ids, first) for ids, first in found]}

    def rows(self, source: Source, record: Record, start: int, length: int) -> list[Scanned]:
        """See `RecordFormat`: a sample for each place in the lists."""
        if not self.fits(record):
            raise Unusable("a line without lists of scores, tokens and masks is not a group")
        return [self._part(source, record, start, length, number) for number in range(sample_count(record, SCORES))]

    def _part(self, source: Source, record: Record, start: int, length: int, number: int) -> SampleRow:
        prompt, response = _texts(record, number)
        ids, first = _tokens(record, number)
        advantages = tokens.read_floats(_at(record, "advantages", number))
        row = parsers.row_of(
            start,
            length,
            prompt,
            response,
            split="train",
            step=0,
            group=f"{stem(source.name)}:{start}",
            index=str(number),
            ordinal=start + number,
            part=str(number),
            reward=parsers.number(_at(record, SCORES, number)),
            prompt_tokens=first if ids else None,
            response_tokens=len(ids) - first if ids else None,
            total_tokens=len(ids) or None,
            turns=max(1, text.answers_in(parsers.chat(response) or ())),
            has_series=bool(tokens.length(_at(record, MASKS, number))),
        )
        if advantages is not None and len(advantages):
            mask = _mask(record, number)
            counted = mask if len(mask) == len(advantages) else None
            row.advantage = tokens.nan_mean(tokens.under_mask(advantages, counted))
        return row

    def sample(self, record: Record, row: SampleRow, locator: Locator) -> Sample:
        number = int(row.part)
        sample = parsers.sample_of(row, locator, *_texts(record, number))
        ids, first = _tokens(record, number)
        arrays = {name: _at(record, key, number) for key, name in SERIES.items()}
        sample.series, sample.notes = series_of({"loss_mask": _mask(record, number), **arrays}, len(ids), first)
        rest = {key: value for key, value in record.items() if key not in _PLACED and key != TEXTS}
        rest |= {key: _at(record, key, number) for key in OF_SAMPLE}
        sample.extra = {key: parsers.showable(value) for key, value in rest.items() if value not in (None, {}, [])}
        return sample

    def annotate(self, run: RunInfo, record: Record, sample: Sample) -> None:
        ids, first = _tokens(record, int(sample.row.part))
        add_tokens(run, sample, ids, first, has_text=isinstance(record.get(MESSAGES), list))

    def tokenizers(self, run: RunInfo) -> list[Location | str]:
        return own_tokenizer(run)


def _at(record: Record, key: str, number: int) -> Any:
    """The value of a sample in a list; None for a shorter list, and for anything else."""
    found = record.get(key)
    return found[number] if isinstance(found, list) and number < len(found) else None


def _mask(record: Record, number: int) -> np.ndarray:
    found = tokens.read_floats(_at(record, MASKS, number))
    return np.zeros(0) if found is None else (found != UNTRAINED).astype(np.float64)


def _tokens(record: Record, number: int) -> tuple[list[int], int]:
    """The ids of a sample, and the token where its response begins."""
    ids, mask = ids_of(_at(record, TOKENS, number)), _mask(record, number)
    return ids, min(int(mask.argmax()) if mask.any() else len(ids), len(ids))


def _texts(record: Record, number: int) -> tuple[Any, Any]:
    """Prompt and response: messages, else the texts of the ids."""
    messages = _at(record, MESSAGES, number)
    if not parsers.is_messages(messages):
        found = _at(record, TEXTS, number)
        return found if found is not None else ([], messages or "")
    first = text.answer_at(messages)
    return messages[:first], messages[first:]
