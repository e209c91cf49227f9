"""miles' `dashboard_columns/`: tokens, masks and logprobs of a dump, without its texts and rewards, in Parquet.

miles writes them before the dump of the same step and renames them into place. They stand for a dump that is missing:
the tokenizer of the run makes texts of their ids.
"""

import os
import re
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from rolloupe import tokens
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.files import files, links_of
from rolloupe.formats.reading.records import Record, References, Unusable
from rolloupe.formats.reading.tables.parquet import ParquetFormat
from rolloupe.formats.slime.samples import Dump, first_of, ids_of, uid_of
from rolloupe.formats.token_texts import note_of, strings_of, turns_of
from rolloupe.formats.trainers.token_rows import series_of
from rolloupe.model import Location, Locator, Part, RunInfo, Sample, SampleRow, Scanned, Source, Turn

FOLDER: Final = "dashboard_columns"
SUFFIX: Final = ".parquet"
MISSING: Final = "the dump of its step is missing: its columns hold tokens, and neither texts nor a reward"
SERIES: Final = {"loss_mask": "loss_mask", "rollout_log_probs": "logprobs"}

_NAME = re.compile(r"rollout_(?P<eval>eval_)?(?P<step>\d{1,15})\.parquet")


class ColumnsFile(NamedTuple):
    """The columns of a step, or of an evaluation."""

    location: Location
    step: int
    is_eval: bool


def column_files_in(run: RunInfo) -> list[ColumnsFile]:
    """List the columns of a run, in the order of steps."""
    found = [
        ColumnsFile(entry.location, int(match["step"]), bool(match["eval"]))
        for entry in files(os.path.join(run.root, FOLDER), links_of(run), (SUFFIX,))
        if (match := _NAME.fullmatch(entry.name))
    ]
    return sorted(found, key=lambda one: (one.is_eval, one.step))


class MilesColumns(ParquetFormat):
    """Rows of columns as samples, for the format of miles."""

    name = "miles"
    title = "miles"
    series_keys = frozenset(("tokens", *SERIES))

    def may_cut(self, key: str) -> bool:
        """See `RecordFormat`."""
        return key in self.series_keys

    def row(self, source: Source, record: Record, start: int, length: int) -> SampleRow:
        """See `RecordFormat`. Without a tokenizer the texts are the ids."""
        ids = _ids(record)
        if not ids:
            raise Unusable("a row without tokens is no sample")
        response = min(fields.count(record.get("response_length")) or 0, len(ids))
        first, step = len(ids) - response, source.step or 0
        split = source.split or "train"
        prompt = _shown(ids[:first])
        return SampleRow(
            split=split,
            step=step,
            group=fields.digest(prompt),
            index=fields.name(record.get("sample_index")) or str(start),
            ordinal=start,
            start=start,
            length=length,
            prompt_tokens=first,
            response_tokens=response,
            total_tokens=len(ids),
            uid=uid_of(step, start) if split == "train" else "",
            has_series=True,
            prompt=prompt,
            response=_shown(ids[first:]),
        )

    def rows_of(self, run: RunInfo, source: Source, record: Record, start: int, length: int) -> list[Scanned]:
        """See `RecordFormat`; decodes the texts."""
        found = super().rows_of(run, source, record, start, length)
        strings = strings_of(run, _ids(record)) if run.tokenizer else None
        for row in found:
            if strings is not None and isinstance(row, SampleRow):
                row.prompt, row.response = "".join(strings[: row.prompt_tokens]), "".join(strings[row.prompt_tokens :])
        return found

    def references(self, record: Record) -> References:  # noqa: ARG002
        """See `RecordFormat`."""
        return References("", [])

    def sample(self, record: Record, row: SampleRow, locator: Locator) -> Sample:
        """See `RecordFormat`."""
        ids = _ids(record)
        arrays = {name: record.get(key) for key, name in SERIES.items()}
        series, notes = series_of(arrays, len(ids), first_of(len(ids), row.response_tokens))
        return Sample(
            key=row.key,
            row=row,
            locator=locator,
            turns=[_turn("user", "prompt", row.prompt), _turn("assistant", "response", row.response)],
            prompt_text=row.prompt,
            response_text=row.response,
            token_ids=ids,
            series=series,
            notes=[MISSING, *notes],
        )

    def annotate(self, run: RunInfo, record: Record, sample: Sample) -> None:
        """See `RecordFormat`: make turns of the tokens."""
        ids = _ids(record)
        strings = strings_of(run, ids) if run.tokenizer else None
        if strings is not None:
            sample.turns = turns_of(run, ids, strings, sample.row.prompt_tokens or 0) or sample.turns
        sample.notes.append(note_of(run, ids, strings))


COLUMNS: Final = MilesColumns()


def dump_of_columns(run: RunInfo, source: Source) -> Dump:
    """Return what joins rows of the trainer with the samples of columns: their indices and their lengths."""
    without_texts = replace(run, tokenizer=None)
    records: dict[int, Record] = {
        row.ordinal: {"index": row.index, "response_length": row.response_tokens}
        for row in COLUMNS.scan(without_texts, source, 0, 2**62)
        if isinstance(row, SampleRow)
    }
    return Dump({"samples": [records.get(position) for position in range(max(records, default=-1) + 1)]})


def _ids(record: Record) -> list[int]:
    found = tokens.read_floats(record.get("tokens"))
    return [] if found is None else ids_of(found)


def _shown(ids: list[int]) -> str:
    return " ".join(map(str, ids))


def _turn(role: str, origin: Any, shown: str) -> Turn:
    return Turn(role=role, origin=origin, parts=[Part(kind="text", text=shown)])
