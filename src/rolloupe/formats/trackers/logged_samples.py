"""Samples as trackers hold them, whatever tracker it is: one form for traces, tables and texts.

A logged sample is a record with the usual names, and what its tracker says about it elsewhere.
"""

import json
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from rolloupe.formats.base import changed
from rolloupe.formats.curve_files import config_of, curve_locations
from rolloupe.formats.generic.keys import Roles, roles_of
from rolloupe.formats.generic.rows import NamedRows
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.field_map import member
from rolloupe.formats.reading.files import EVAL_WORDS, words_in
from rolloupe.formats.reading.records import Record, Unusable
from rolloupe.formats.reading.trackers.curves import number_of
from rolloupe.formats.reading.trainer_files import described_files
from rolloupe.formats.token_texts import add_tokens, series_of, texts_of
from rolloupe.model import Location, Locator, Problem, RunFile, RunInfo, Sample, SampleRow, Source

NAMES_OF_MODELS = ("actor_rollout_ref.model.path", "model_name_or_path", "_name_or_path", "model_name", "model")
"""The keys of configurations that name a model, and so a tokenizer."""


class TokenIds(NamedTuple):
    """The tokens of a sample: their ids, and numbers for the last of them."""

    prompt: list[int]
    response: list[int]
    series: dict[str, Any]


class LoggedSample(NamedTuple):
    """A sample. `record` has those of `prompt`, `response`, `reward`, `step` and `group` that are known."""

    record: Record
    split: str = ""
    own_index: str = ""
    """Its name within its group; if it is empty, its place is the name."""
    notes: tuple[str, ...] = ()
    tokens: TokenIds | None = None


class Placed(NamedTuple):
    """A sample, or why it cannot be read, at a place in its file."""

    start: int
    length: int
    part: str
    name: str
    """The name of a sample that its tracker does not name."""
    found: LoggedSample | str
    record: Any = None
    """The part of the file that is about the sample, as JSON."""


class TrackerSamples(NamedRows):
    """A format whose samples lie with a tracker."""

    decodes_ids = True

    def roles(self, record: Record) -> Roles:
        """See `NamedRows`: the names of `LoggedSample`."""
        prompt, response, score, step, group = (name if name in record else None for name in _OWN)
        return roles_of(record)._replace(
            messages=None, prompt=prompt, response=response, score=score, step=step, group=group
        )

    @abstractmethod
    def placed_at(self, source: Source, locator: Locator) -> Placed:
        """Return the sample at a place. Raises `SourceChanged`."""

    def load(self, run: RunInfo, source: Source, locator: Locator) -> Sample:
        placed = self.placed_at(source, locator)
        row = next(self.placed_rows(run, source, placed))
        if not isinstance(row, SampleRow) or isinstance(placed.found, str):
            raise changed(source, locator.start, row.reason if isinstance(row, Problem) else "it is no sample")
        return self.whole_sample(run, row, locator, placed.found)

    def raw(self, source: Source, locator: Locator) -> bytes:
        """Return the part of the file that is about the sample, as JSON."""
        return as_bytes(self.placed_at(source, locator).record)

    def first_records(self, some: Sequence[Location]) -> list[Record]:  # noqa: ARG002
        """See `RecordFormat`: files of trackers have no records of their own."""
        return []

    def placed_rows(self, run: RunInfo, source: Source, placed: Placed) -> Iterator[SampleRow | Problem]:
        """Yield the row of a sample, or the problem at its place."""
        try:
            if not isinstance(placed.found, str):
                yield self.placed_row(run, source, placed, placed.found)
                return
            reason = placed.found
        except Unusable as error:
            reason = str(error)
        except Exception as error:  # a defect must not cost the rows after it
            reason = self.failure(error)
        stop = placed.start + placed.length
        yield Problem(source=source.name, reason=reason, start=placed.start, stop=stop)

    def placed_row(self, run: RunInfo, source: Source, placed: Placed, logged: LoggedSample) -> SampleRow:
        """Return the row of a sample. Raises `Unusable`."""
        (row,) = self.rows_of(run, source, _with_texts(run, logged), placed.start, placed.length)
        assert isinstance(row, SampleRow)
        row.split, row.part = logged.split or row.split, placed.part
        row.index = logged.own_index or placed.name
        if logged.tokens:
            row.prompt_tokens, row.response_tokens = len(logged.tokens.prompt), len(logged.tokens.response)
            row.total_tokens = row.prompt_tokens + row.response_tokens
            row.has_series = any(logged.tokens.series.values())
        return row

    def whole_sample(self, run: RunInfo, row: SampleRow, locator: Locator, logged: LoggedSample) -> Sample:
        """Return the sample of a row, with its tokens."""
        sample = self.sample(_with_texts(run, logged), row, locator)
        sample.notes += logged.notes
        if tokens := logged.tokens:
            ids = [*tokens.prompt, *tokens.response]
            sample.series, notes = series_of(tokens.series, len(ids), len(tokens.prompt))
            sample.notes += notes
            add_tokens(run, sample, ids, len(tokens.prompt), has_text="response" in logged.record)
        return sample

    def config(self, run: RunInfo) -> dict[str, Any]:
        return config_of(run)

    def files(self, run: RunInfo) -> list[RunFile]:
        return described_files(curve_locations(run))

    def tokenizers(self, run: RunInfo) -> list[Location | str]:
        """See `Format`: the model that the configuration names."""
        config = self.config(run)
        named = (member(config, key) for key in NAMES_OF_MODELS)
        return [name for name in named if isinstance(name, str) and name]


_OWN = ("prompt", "response", "reward", "step", "group")


def _with_texts(run: RunInfo, logged: LoggedSample) -> Record:
    """The record of a sample, with texts of its ids where it has no others."""
    if logged.tokens is None or "response" in logged.record:
        return logged.record
    ids = [*logged.tokens.prompt, *logged.tokens.response]
    prompt, response = texts_of(run, ids, len(logged.tokens.prompt))
    return {"prompt": prompt} | logged.record | {"response": response}


def with_numbers(record: Record) -> Record:
    """Return a record with the numbers that JSON lacks, which trackers write as texts, but for those of its texts."""
    return {key: value if key in _TEXTS else _number_or(value) for key, value in record.items()}


_TEXTS = {"prompt", "response", "completion", "messages", "input", "output", "text"}


def _number_or(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _number_or(member) for key, member in value.items()}
    return number_of(value) if value in ("NaN", "Infinity", "-Infinity") else value


def split_named(name: object) -> str:
    """Return `eval/NAME` for the name of an evaluation, with its word alone if that is all; else empty."""
    if not isinstance(name, str):
        return ""
    parts = [part for part in name.split("/") if part]
    if not any(not EVAL_WORDS.isdisjoint(words_in(part)) for part in parts):
        return ""
    other = [part for part in parts if part.lower() not in EVAL_WORDS]
    return f"eval/{'/'.join(other) or parts[0]}"


def as_bytes(record: Any) -> bytes:
    """Return a record of a sample as JSON."""
    return json.dumps(record, ensure_ascii=False, default=str).encode("utf-8", "surrogatepass")


def name_of(value: object) -> str:
    """Return a framework's name for something, empty for anything else."""
    return fields.name(value) or ""
