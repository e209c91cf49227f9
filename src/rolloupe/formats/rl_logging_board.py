"""RLLoggingBoard: every `.jsonl` of a folder, one sample per line, with token strings and per-token arrays.

Source: HarderThenHarder/RLLoggingBoard, its README and its reader. Any trainer may write such files; data-parallel
ranks write one file each, and the rows of all are merged by their `step`.
"""

import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from rolloupe import text, tokens
from rolloupe.formats.generic import row_tokens, rows
from rolloupe.formats.generic.keys import candidates
from rolloupe.formats.generic.row_columns import lists_of_tokens, sample_columns
from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.formats.reading.files import counted, stem
from rolloupe.formats.reading.peek import first_looks
from rolloupe.formats.reading.record_blocks import NESTED, TEXTS, RecordBlock, completed, first_of, rows_of
from rolloupe.formats.reading.records import Record, References
from rolloupe.model import (
    Location,
    Locator,
    RunInfo,
    RunPart,
    Sample,
    SampleColumns,
    SampleRow,
    Source,
    TokenSeries,
    Turn,
)

PAD_TOKEN = "<PAD>"  # noqa: S105
"""The board's default padding token, which precedes prompts and follows responses."""

TEXT_CHARS = parsers.MAX_TAG_CHARS

OWN_ARRAYS = ("logprobs", "ref_logprobs", "values", "token_rewards")
ARRAYS = (*OWN_ARRAYS, "entropy", "advantages", "returns", *tokens.MASKS)
NUMBERS = ("ref_reward", "valid_reward", "ref_valid_reward")
_OF_REFERENCES = (*NUMBERS, "ref_response", "ref_response_chars")

_REQUIRED = {"prompt", "response", "reward", "step"}
_TELLING = {"response_tokens", "ref_response", "ref_logprobs", "values", "token_rewards", *NUMBERS}
"""A row must have one of these keys: the board's other keys occur in any log."""


class RLLoggingBoard(rows.LineRows):
    """Token-level JSON lines for RLLoggingBoard."""

    name = "rl_logging_board"
    sources_by_name = True
    title = "RLLoggingBoard"
    suffixes = (".jsonl",)
    pad = PAD_TOKEN
    series_keys = frozenset(ARRAYS)

    def fits_any(self, locations: Sequence[Location]) -> bool:
        looks = first_looks(locations).values()
        return any(_fits(record, is_whole=seen.whole) for seen in looks for record in seen.objects)

    def reason(self, locations: Sequence[Location]) -> str:
        return f"{counted(locations)} of JSON lines, rows have prompt, response, reward and step"

    def joined(self, runs: list[RunInfo]) -> list[RunInfo]:
        """See `Format`: a folder `eval_X` beside a run `X` or `train_X` is a part of that run."""
        joined = {run.root: run for run in runs}
        for root in [*joined]:
            folder = Path(root)
            if not folder.name.startswith("eval_"):
                continue
            subject = folder.name.removeprefix("eval_")
            places = [str(folder.with_name(name)) for name in (subject, f"train_{subject}")]
            if host := next((joined[place] for place in places if place in joined), None):
                parts = (*host.parts, RunPart(root, f"eval/{subject}"))
                reason = f"{host.reason}; {folder.name} beside it is its evaluation"
                joined[host.root] = msgspec.structs.replace(host, parts=parts, reason=reason)
                del joined[root]
        return list(joined.values())

    def needs_length(self, key: str) -> bool:
        """See `RecordFormat`: series whose ratios and sums are computed need their values."""
        return key not in ARRAYS and super().needs_length(key)

    def row(self, source: Source, record: Record, start: int, length: int) -> SampleRow:
        record = _unpadded(record)
        row = super().row(source, record, start, length)
        _complete(row, source, record, row_tokens.row_tokens(record), self.references(record).label)
        return row

    def columns(self, run: RunInfo, source: Source, block: RecordBlock) -> SampleColumns | None:  # noqa: ARG002
        padded = [key for key in ("prompt", "response") if block.types(key) == TEXTS]
        block = block.with_columns(
            {key: [words.replace(PAD_TOKEN, "") for words in block.columns[key]] for key in padded}
        )
        named, lists = candidates(block.keys), lists_of_tokens(self, block) or [{}] * block.count
        found, labels = [*map(row_tokens.row_tokens, lists)], named.of("label")
        is_plain = NESTED not in map(block.types, labels) and {*labels}.isdisjoint(named.of("short", "weak_response"))
        samples = sample_columns(self, source, block, found) if is_plain else None
        if samples is None:
            return None
        read = [key for key in _OF_REFERENCES if key in block.keys]
        texts = first_of([block.columns[key] for key in labels]) if labels else [None] * block.count
        rows = rows_of(samples)
        for row, own, label, members, *values in zip(rows, lists, texts, found, *map(block.values, read), strict=True):
            _complete(row, source, own | dict(zip(read, values, strict=True)), members, parsers.as_text(label))
        return completed(samples, rows, "index", "response_tokens", "series", "has_series")

    def references(self, record: Record) -> References:
        return super().references(record)._replace(turns=_reference_turns(record))

    def sample(self, record: Record, row: SampleRow, locator: Locator) -> Sample:
        stored = self.own_record(record, row)
        own = _unpadded(stored)
        sample = super().sample(own, row, locator)
        sample.ref_turns, sample.ref_reward = self.references(own).turns, parsers.number(own.get("ref_reward"))
        sample.series += [
            TokenSeries(name=name, values=tokens.packed(values), is_derived=True)
            for name, values in _arrays(row_tokens.row_tokens(own)).cut().items()
        ]
        sample.extra.pop("ref_response", None)
        for key in ("prompt", "response"):
            padding = stored[key].count(PAD_TOKEN) if isinstance(stored.get(key), str) else 0
            if padding:
                plural = "s" if padding > 1 else ""
                sample.notes.append(f"{padding} pad token{plural} {PAD_TOKEN} dropped from the {key}")
        if own.get("step") is None:
            sample.notes.append(f"no step in the record: listed under step {row.step}")
        return sample


def _reference_turns(record: Record) -> list[Turn]:
    reference = record.get("ref_response")
    return parsers.response_turns(reference.replace(PAD_TOKEN, "") if isinstance(reference, str) else reference)


def _complete(row: SampleRow, source: Source, record: Record, found: row_tokens.RowTokens, label: str) -> None:
    """Add to a row what only the board has; `found` are its tokens."""
    row.index = f"{_file_stem(source.path)}:{row.start}"
    arrays = _arrays(found) if found.arrays else Arrays(0, {}, {})
    if row.response_tokens is None:
        lengths = (tokens.length(tokens.inner(record.get(key))) for key in OWN_ARRAYS)
        row.response_tokens = max((length for length in lengths if length is not None), default=None)
    row.metrics |= _metrics(record, row.reward, arrays.derived)
    beginnings = {"label": label, "ref_response": "".join(map(text.verbatim, _reference_turns(record)))}
    row.tags |= {name: shown for name, words in beginnings.items() if (shown := text.one_line(words[:TEXT_CHARS]))}
    series = {**arrays.shown, **arrays.cut()}
    row.series = tokens.facts_of({name: series[name] for name in series if name not in tokens.MASKS})
    row.has_series = False


@lru_cache(maxsize=1000)
def _file_stem(path: str) -> str:
    return stem(os.path.basename(path))


def _fits(record: Record, *, is_whole: bool) -> bool:
    required = _REQUIRED if is_whole else {"prompt", "response"}  # reward and step may follow long arrays
    is_of_relax = is_whole and record.keys() >= {"rollout_id", "sample_index"}
    is_text = not isinstance(record.get("response"), dict)
    return record.keys() >= required and not _TELLING.isdisjoint(record) and is_text and not is_of_relax


def _unpadded(record: Record) -> Record:
    padded = {key: value for key in ("prompt", "response") if isinstance(value := record.get(key), str)}
    return record | {key: value.replace(PAD_TOKEN, "") for key, value in padded.items() if PAD_TOKEN in value}


class Arrays(NamedTuple):
    """The per-token arrays of a record, and series derived from two of them."""

    total: int
    """The number of tokens that the arrays share."""
    shown: dict[str, tokens.Floats]
    """The arrays of the record, NaN where a mask is 0."""
    derived: dict[str, tokens.Floats]
    """`log_ratio` and `kl` of the response tokens, without padding."""

    def cut(self) -> dict[str, tokens.Floats]:
        """The derived arrays, cut to the number of tokens of the others."""
        return {name: values[: self.total] for name, values in self.derived.items()}


def _arrays(stored: row_tokens.RowTokens) -> Arrays:
    placed = row_tokens.placed_row(stored, None, PAD_TOKEN)
    shown = _under_masks(placed.series)
    both = {"logprobs", "ref_logprobs"}
    if not both <= stored.arrays.keys():
        return Arrays(placed.total, shown, {})
    alone = shown
    if placed.notes and len(stored.arrays) > len(both):  # shorter arrays do not cut these two
        pair = {name: values for name, values in stored.arrays.items() if name in (*both, *row_tokens.MASKS)}
        alone = _under_masks(row_tokens.placed_row(stored._replace(arrays=pair), None, PAD_TOKEN).series)
    if not both <= alone.keys():
        return Arrays(placed.total, shown, {})
    ratios = tokens.log_ratio(alone["logprobs"], alone["ref_logprobs"])
    return Arrays(placed.total, shown, {"log_ratio": ratios, "kl": tokens.board_kl(ratios)})


def _under_masks(series: Mapping[str, tokens.Floats]) -> dict[str, tokens.Floats]:
    shown = dict(series)
    for mask in (series[name] for name in tokens.MASKS if name in series):
        shown |= {name: tokens.under_mask(values, mask) for name, values in shown.items() if name not in tokens.MASKS}
    return shown


def _metrics(record: Record, reward: float | None, derived: Mapping[str, tokens.Floats]) -> dict[str, float]:
    metrics: dict[str, float] = {}
    for gap, other in (("reward_gap", "ref_reward"), ("valid_reward_gap", "valid_reward")):
        if reward is not None and (number := parsers.number(record.get(other))) is not None:
            metrics[gap] = reward - number
    if "ref_response_chars" not in record and record.get("ref_response"):
        reference = parsers.joined(record["ref_response"], thoughts=True).replace(PAD_TOKEN, "")
        metrics |= {"ref_response_chars": float(len(reference))} if reference else {}
    pieces = record.get("response_tokens")
    if isinstance(pieces, list):
        metrics["response_tokens_len"] = float(len(pieces))
    for name, values in derived.items():
        if both := tokens.mean_and_sum(values):
            metrics[f"avg_{name}"], metrics[f"sum_{name}"] = both
            if name == "kl":
                metrics["max_kl"] = float(np.nanmax(values))
    return metrics
