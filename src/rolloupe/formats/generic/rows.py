"""Rows of anybody's files: a row under usual names becomes a sample, and each kind of file has a reader.

The kinds are JSON lines, Parquet, CSV, TSV and JSON documents.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from typing import Any, ClassVar

import numpy as np

from rolloupe import text, tokens
from rolloupe.formats.base import NO_ANNOTATIONS, Annotations, changed, no_sample
from rolloupe.formats.generic import row_tokens
from rolloupe.formats.generic.documents import DELIMITED, Header, PlacedRow, header_of, is_document, row_in, rows_in
from rolloupe.formats.generic.hints import goes_by_prompt
from rolloupe.formats.generic.keys import Roles, candidates, is_aside, roles_of, weak_group
from rolloupe.formats.generic.row_columns import group_of_uid, sample_columns
from rolloupe.formats.generic.shapes import samples_in
from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.formats.reading.field_map import as_pairs
from rolloupe.formats.reading.files import plain_name, stamp_of, stem, while_unchanged
from rolloupe.formats.reading.jsonl import JsonlFormat
from rolloupe.formats.reading.line_reader import parse
from rolloupe.formats.reading.record_blocks import RecordBlock
from rolloupe.formats.reading.records import Record, RecordFormat, References, Uncut, Unusable, step_of
from rolloupe.formats.reading.stream import open_binary
from rolloupe.formats.reading.tables.parquet import ParquetFormat
from rolloupe.lru import Lru
from rolloupe.model import Location, Locator, Problem, RunInfo, Sample, SampleColumns, SampleRow, Scanned, Source
from rolloupe.storage import path_state
from rolloupe.tokens import SampleTokens

SHOWN_TEXTS = 12


class NamedRows(RecordFormat):
    """A format whose rows hold the parts of a sample under usual names, which `roles` finds."""

    pad: ClassVar[str] = ""
    """The token that pads responses, if the framework defines one."""
    scores_tokens: ClassVar[bool] = False
    """True if a list of rewards always has one for each token, even if the record lacks their number."""
    cuts_arrays: ClassVar[bool] = True
    """False if lists of numbers may have other uses than token series and extra fields: see `may_cut`."""
    divides: ClassVar[bool] = False
    """True if a record may hold several samples."""

    def roles(self, record: Record) -> Roles:
        """Return the keys that the format knows; `known_roles` fills the other roles."""
        return roles_of(record)

    def known_roles(self, record: Record) -> Roles:
        """Return the key in each role: the usual names fill those that the format leaves open."""
        own = self.roles(record)
        return own if type(self).roles is NamedRows.roles else own.with_usual(roles_of(record))

    def may_cut(self, key: str) -> bool:
        return self.cuts_arrays and is_aside(key)

    def needs_length(self, key: str) -> bool:
        return row_tokens.needs_length(key)

    def row(self, source: Source, record: Record, start: int, length: int) -> SampleRow:
        record = row_tokens.with_choice(record)
        doubts: dict[str, Any] = dict.fromkeys(source.depends.split("\t")[1:])  # roles: see `Generic.sources`
        roles = self.known_roles(record)._replace(**doubts)
        named = candidates(tuple(record))
        if not (roles.prompt or roles.response or roles.score or named.of("prompt", "response", "messages", "score")):
            raise Unusable("an object without a text or a score under a usual name is not a sample")
        reward = self._reward(roles, record)
        status = roles.status(record)
        prompt, response = roles.texts(record)
        may_differ = source.split in (None, "train") and (roles.step is not None or source.step is not None)
        metrics, tags = roles.rest(record)
        step = step_of(record.get(roles.step)) if roles.step else source.step
        if step is None and roles.weak_step:
            step = parsers.integer(record[roles.weak_step])
        found = _tokens(roles, record)
        is_prompt = "prompt" in named.by_role and not named.of("response", "messages")
        if roles.score is None and status[0] == "unknown" and not found.keys and is_prompt:
            raise Unusable("a prompt without a response, a score or a status is not a sample")
        prompt_tokens, response_tokens = roles.tokens(record, "prompt"), roles.tokens(record, "response")
        if response_tokens is None and len(found.pieces):
            _, prompt_tokens, response_tokens = row_tokens.extent_of(found, prompt_tokens, self.pad)
        group = _group(roles, record)
        row = parsers.row_of(
            start,
            length,
            prompt,
            response,
            split=(roles.evaluation(record) if may_differ else "") or source.split or "train",
            step=step if step is not None else (source.step or 0),
            group=group,
            index=f"{stem(source.name)}:{start}",
            reward=reward.value,
            advantage=parsers.number(record.get(roles.advantage)) if roles.advantage else None,
            status=status,
            prompt_tokens=prompt_tokens,
            response_tokens=response_tokens,
            total_tokens=roles.tokens(record, "total"),
            env=(parsers.name(record.get(roles.env)) or "") if roles.env else "",
            uid=parsers.name(record.get("uid")) or "",
            discarded=parsers.reason(record.get("discarded")) or "",
            metrics=metrics | reward.metrics,
            tags=tags | reward.tags,
            has_series=found.has_series,
        )
        if group is None and not row.prompt:
            row.group = weak_group(record) or row.group
        if row.messages is not None:
            row.turns = max(1, text.answers_in(row.messages)) if row.messages else 0
        elif isinstance(response, str):
            row.turns = text.bare_answers(response, row.prompt)
        return row

    def _reward(self, roles: Roles, record: Record) -> parsers.Reward:
        """The reward: the sum of a list with a number for each token. Raises `Unusable` for any other list."""
        value = record.get(roles.score) if roles.score else None
        if isinstance(value, str) and parsers.tag(value) and not parsers.is_shown_reward(value):
            return parsers.reward(value)._replace(tags={str(roles.score): value})
        if not isinstance(value, list):
            return parsers.reward(value)
        if len(value) == 1:
            return parsers.reward(value[0])
        rewards = tokens.read_floats(value)
        others = (member for key, member in record.items() if key not in (roles.score, *roles[:3]))
        if rewards is not None and (
            self.scores_tokens
            or roles.tokens(record, "response") == len(value)
            or any(tokens.length(member) == len(value) for member in others)
        ):
            return parsers.Reward(tokens.nan_sum(rewards), {}, {})
        what = f"`{roles.score}` has {len(value)} numbers for one response"
        if not parsers.joined(roles.texts(record)[1]).strip():
            texts = [key for key, member in record.items() if isinstance(member, str) and member.strip()]
            paths = "by their paths from the row, as in --map response=KEY,reward=LIST.0.KEY"
            among = f"; its texts are {', '.join(texts[:SHOWN_TEXTS])}" if texts else ""
            raise Unusable(f"{what}, which is empty. Next: name the text and its score {paths}{among}")
        key = "KEY" if roles.score == "reward" else roles.score  # a person may have named a list of another name
        pairs = as_pairs({"reward": f"{key}.0"}) or "FILE, a file of TOML"
        raise Unusable(f"{what}, which has fewer or more tokens. Next: choose one of them, as with --map {pairs}")

    def references(self, record: Record) -> References:
        record = row_tokens.with_choice(record)
        label = self.known_roles(record).label
        return References(parsers.as_text(record.get(label)) if label else "", [])

    def sample(self, record: Record, row: SampleRow, locator: Locator) -> Sample:
        record = row_tokens.with_choice(self.own_record(record, row))
        roles = self.known_roles(record)
        prompt, response = roles.texts(record)
        found = _tokens(roles, record)
        sample = parsers.sample_of(row, locator, prompt, response)
        sample.label = self.references(record).label
        aligned = row_tokens.placed_row(found, roles.tokens(record, "prompt"), self.pad)
        unplaced = row_tokens.add_row_tokens(sample, found, aligned)
        placed = found.keys.keys() - unplaced
        sample.extra = {
            key: parsers.showable(value)
            for key, value in record.items()
            if key not in placed and (key in unplaced or not roles.shows(key, value, row))
        }
        return sample


def _group(roles: Roles, record: Record) -> str | None:
    return parsers.name(record.get(roles.group)) if roles.group else group_of_uid(record.get("uid"))


def _tokens(roles: Roles, record: Record) -> row_tokens.RowTokens:
    """The tokens of a row; a list of scores is a series if it has a number for each token."""
    found = row_tokens.row_tokens(record)
    scores = record[roles.score] if roles.score else None
    count = tokens.length(scores)
    if not count and "rollout_logprobs" not in found.arrays:  # nearly always
        return found
    arrays, keys = dict(found.arrays), dict(found.keys)
    if count and all(tokens.length(values) == count for values in arrays.values()):
        arrays["token_rewards"], keys[str(roles.score)] = scores, "token_rewards"
    if "rollout_logprobs" in arrays and "trainer_logprobs" not in arrays:
        renamed = {"rollout_logprobs": "logprobs", "logprobs": "trainer_logprobs"}
        arrays = {renamed.get(name, name): values for name, values in arrays.items()}
        keys = {key: renamed.get(name, name) for key, name in keys.items()}
    return found._replace(arrays=arrays, keys=keys)


def number_row(row: SampleRow, number: int) -> SampleRow:
    """Number the row of one of several samples in a record."""
    if not row.prompt and goes_by_prompt(row):
        row.group = row.index  # responses without a prompt, which one record holds
    row.index, row.ordinal, row.part = f"{row.index}.{number}", row.start + number, str(number)
    return row


class OwnNames(NamedRows):
    """A format that names the key of each role; other roles have none."""

    names: ClassVar[dict[str, str]] = {}
    counts: ClassVar[dict[str, str]] = {}
    """Keys of token counts: `prompt`, `response`, `total`."""

    def roles(self, record: Record) -> Roles:
        own = {role: key for role, key in self.names.items() if key in record}
        if "messages" in own and not parsers.is_messages(record[own["messages"]]):
            del own["messages"]
        return Roles(**own, counts={what: key for what, key in self.counts.items() if key in record})


PARQUET = ".parquet"
TABLES = (PARQUET, ".json", *DELIMITED)
FIRST_BYTES = 2**20
LOOKED_BYTES = 2**25
FIRST_ROWS = 8
HEAD_BYTES = 2**12
KEPT_BYTES = 2**26
"""As many bytes as a line may have."""

_prepared: Lru[tuple[object, ...], Record] = Lru(entries=2, total=KEPT_BYTES)
"""Prepared records by their bytes or their places: the samples of a record are usually loaded in sequence."""


def ending_of(path: str) -> str:
    """Return the suffix of a table; empty for any other file."""
    return next((ending for ending in TABLES if plain_name(path).endswith(ending)), "")


class DividedRecord(Record):
    """A record that holds several samples, and these samples."""

    def __init__(self, record: Record, samples: list[Record]) -> None:
        super().__init__(record)
        self.samples = samples


class AnyRows(NamedRows):
    """Rows under usual names, or those of a person's field map; a row may hold several samples."""

    name = "generic"
    title = "rows with text and a score"
    divides = True

    def prepared(self, run: RunInfo, record: Record) -> Record:
        """See `RecordFormat`: the one sample in a record, or a record with its samples. Raises `Unusable`."""
        samples = samples_in(record, run.reading.fields)
        return samples[0] if len(samples) == 1 else DividedRecord(record, samples)

    def rows(self, source: Source, record: Record, start: int, length: int) -> list[Scanned]:
        if not isinstance(record, DividedRecord):
            return [self.row(source, record, start, length)]
        found: list[Scanned] = []
        for number, own in enumerate(record.samples):
            try:
                found.append(number_row(self.row(source, own, start, length), number))
            except Unusable as error:
                reason = f"sample {number}: {error}"
                found.append(Problem(source=source.name, reason=reason, start=start, stop=start + length))
        return found

    def own_record(self, record: Record, row: SampleRow) -> Record:
        return record.samples[int(row.part.rpartition(".")[2])] if isinstance(record, DividedRecord) else record

    def part_of(self, run: RunInfo, source: Source, locator: Locator, record: Record) -> tuple[Record, SampleRow]:
        """The record and the row of one sample in a prepared record. Raises `Unusable`."""
        samples = record.samples if isinstance(record, DividedRecord) else [record]
        number = int(locator.part or 0)
        if len(samples) <= number or (len(samples) > 1) != bool(locator.part):
            raise Unusable(f"its part {locator.part!r} is gone")
        (row,) = self.rows_of(run, source, samples[number], locator.start, locator.length)
        if not isinstance(row, SampleRow):
            raise Unusable("it is not a sample")
        return samples[number], number_row(row, number) if locator.part else row


class LineRows(AnyRows, JsonlFormat):
    """Rows of JSON lines."""

    def columns(self, run: RunInfo, source: Source, block: RecordBlock) -> SampleColumns | None:  # noqa: ARG002
        return sample_columns(self, source, block)

    def _parsed(self, run: RunInfo, source: Source, data: bytes, locator: Locator) -> tuple[Record, SampleRow]:
        if not locator.part:
            return super()._parsed(run, source, data, locator)
        key = data, run.reading.fields  # samples read in order pass the same bytes object, whose hash is known
        try:
            record = _prepared.get_or_make(key, lambda: self.prepared(run, parse(data)), lambda _: len(data))
            return self.part_of(run, source, locator, record)
        except Unusable as error:
            raise changed(source, locator.start, str(error)) from None

    def samples_at(self, run: RunInfo, source: Source, places: Sequence[Locator]) -> Iterator[Sample | Problem]:
        return self.samples_in_order(run, source, places, self.annotate)


class ParquetRows(AnyRows, ParquetFormat):
    """Rows of Parquet files."""

    def prepared(self, run: RunInfo, record: Record) -> Record:
        try:
            return super().prepared(run, record)
        except Uncut:
            lists = {key: value.tolist() for key, value in record.items() if isinstance(value, np.ndarray)}
            return super().prepared(run, record | lists)


class DocumentRows(AnyRows):
    """Rows of CSV, TSV and JSON documents. A scan reads the file up to `MAX_BYTES`."""

    def first_records(self, some: Sequence[Location]) -> list[Record]:
        return [record for location in some for record in first_rows(location)]

    def scan(self, run: RunInfo, source: Source, start: int, stop: int) -> Iterator[Scanned]:
        with open_binary(source.location) as file:
            for begin, end, record, reason, may_grow in rows_in(file, ending_of(source.path)):
                if begin >= stop:
                    return
                if begin < start:
                    continue
                try:
                    if record is not None:
                        yield from self.rows_of(run, source, self.prepared(run, record), begin, end - begin)
                        continue
                except Exception as error:  # a defect of this code must not cost the rows after it
                    reason = self._why_not(error)  # noqa: PLW2901
                yield Problem(source=source.name, reason=reason, start=begin, stop=end, transient=may_grow)

    def record_at(self, run: RunInfo, source: Source, locator: Locator) -> tuple[Record, SampleRow] | None:
        return self._record_and_row(run, source, locator)

    def token_arrays(
        self, run: RunInfo, source: Source, places: Sequence[Locator], annotations: Annotations = NO_ANNOTATIONS
    ) -> Iterator[SampleTokens | Problem]:
        del annotations  # nothing annotates such files
        samples = self.samples_at(run, source, places)
        return (sample if isinstance(sample, Problem) else tokens.tokens_of(sample) for sample in samples)

    def samples_at(self, run: RunInfo, source: Source, places: Sequence[Locator]) -> Iterator[Sample | Problem]:
        """See `Format`: reads each record once, however large it is and however many samples it holds."""
        for _, several in groupby(places, lambda place: (place.start, place.length)):
            whole: Record | None = None
            for place in several:
                try:
                    whole = self._whole(run, source, place) if whole is None else whole
                    record, row = self.part_of(run, source, place, whole)
                    yield self.sample(record, row, place)
                except Exception as error:  # must not cost the samples after it
                    yield no_sample(source, place, error)

    def _record_and_row(self, run: RunInfo, source: Source, locator: Locator) -> tuple[Record, SampleRow]:
        try:
            state = path_state(source.path)
            place = locator.start, locator.length, state.st_ino, state.st_size, state.st_mtime_ns
            key = source.location, place, run.reading.fields
            whole = _prepared.get_or_make(key, lambda: self._whole(run, source, locator), lambda _: locator.length)
            return self.part_of(run, source, locator, whole)
        except (Unusable, OSError) as error:
            raise changed(source, locator.start, getattr(error, "strerror", None) or str(error)) from None

    def _whole(self, run: RunInfo, source: Source, locator: Locator) -> Record:
        """The prepared record at a place. Raises `Unusable`, and `SourceChanged`."""
        data = self.read(source, locator.start, locator.length)
        if len(data) < locator.length:
            raise changed(source, locator.start, "the file ends before it")
        return self.prepared(run, row_in(data, _header(source.location)))


@while_unchanged(512)
def _header(location: Location) -> Header:
    with open_binary(location) as file:
        return header_of(file.read(FIRST_BYTES), ending_of(location.path))


def is_read_whole(location: Location) -> bool:
    """Return whether a file is a table or a document, which is read as a whole; JSON lines are not."""
    return bool(ending_of(location.path)) or _begins_document(location)


def _state_of_beginning(location: Location) -> tuple[int, int, int]:
    """The state of a file's beginning; a longer file may grow, so its time is left out."""
    inode, size, changed = stamp_of(location)
    return (inode, size, changed) if size < HEAD_BYTES else (inode, HEAD_BYTES, 0)


@while_unchanged(4096, _state_of_beginning, errors=(OSError,), otherwise=False)
def _begins_document(location: Location) -> bool:
    """Whether a file named like JSON lines holds a document over several lines."""
    with open_binary(location) as file:
        return is_document(file.read(HEAD_BYTES))


def first_rows(location: Location) -> tuple[Record, ...]:
    """Return the first rows of a table, with long values cut short; none for an unreadable file."""
    try:
        return rows_at_start(location)
    except OSError:
        return ()


@while_unchanged(512)
def rows_at_start(location: Location) -> tuple[Record, ...]:
    """Return the first rows of a table as `first_rows` does. Raises OSError."""
    ending = ending_of(location.path)
    if ending == PARQUET:
        return tuple(ParquetRows().first_records([location]))
    is_table = ending in DELIMITED
    with open_binary(location) as file:
        found = _few(rows_in(file, ending, LOOKED_BYTES if is_table else FIRST_BYTES))
        file.seek(0)
        if not found and not is_table and file.read(FIRST_BYTES).lstrip()[:1] == b"{":
            file.seek(0)
            found = _few(rows_in(file, ending, LOOKED_BYTES))  # one object, whose list may be long
    return tuple(map(parsers.showable, found))


def _few(rows: Iterator[PlacedRow]) -> list[Record]:
    return [*islice((placed.record for placed in rows if placed.record is not None), FIRST_ROWS)]
