"""The samples of a part as columns: rows of a scan, and samples that a scan read many at once, joined in their order.

The index keeps the beginnings of texts. A stamp of each sample tells whether another one took its place.
"""

import hashlib
import zlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, repeat
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
from msgspec.structs import astuple

from rolloupe import text
from rolloupe.formats.reading.causes import cause_of
from rolloupe.model import Annotation, SampleColumns, SampleRow

MAX_METRICS = 512
"""The maximum number of sample metrics in a segment. A problem reports the others, which only the sample itself shows.
"""
MAX_TAGS = 128

PREVIEW_CHARS = 240
END_CHARS = 160
"""More than a line of the list has room for. Readers make one line of the ends of responses: `query.samples.rows`."""

DEFAULTS: dict[str, Any] = {
    field.name: field.default_factory() if field.default is msgspec.NODEFAULT else field.default
    for field in msgspec.structs.fields(SampleRow)
    if not field.required
}
"""The values of fields that a row does not set."""

NO_SAMPLES = SampleColumns(count=0, fields={}, metrics={}, tags={})


class Names(NamedTuple):
    """The names of metrics and tags in a segment, in order of appearance, and the number of those that did not fit."""

    metrics: list[str]
    tags: list[str]
    left_out: int = 0


def names_of(records: Iterable[SampleRow | Annotation | SampleColumns]) -> Names:
    """The names of metrics and tags in some records."""
    metrics: dict[str, None] = {}
    tags: dict[str, None] = {}
    for record in records:
        if not metrics.keys() >= record.metrics.keys():
            metrics |= dict.fromkeys(record.metrics)
        if not tags.keys() >= record.tags.keys():
            tags |= dict.fromkeys(record.tags)
    left_out = max(0, len(metrics) - MAX_METRICS) + max(0, len(tags) - MAX_TAGS)
    return Names([*metrics][:MAX_METRICS], [*tags][:MAX_TAGS], left_out)


def columns_of(pieces: Sequence[Sequence[SampleRow] | SampleColumns]) -> tuple[SampleColumns, Names]:
    """Join the pieces of a scan."""
    names = names_of(chain.from_iterable([piece] if isinstance(piece, SampleColumns) else piece for piece in pieces))
    parts = [piece if isinstance(piece, SampleColumns) else _of_rows(piece, names) for piece in pieces if piece]
    fields = {
        name: _joined(part.fields.get(name, repeat(DEFAULTS.get(name), part.count)) for part in parts)
        for name in SampleRow.__struct_fields__
        if any(name in part.fields for part in parts)
    }
    tags = {name: _joined(part.tags.get(name, repeat(None, part.count)) for part in parts) for name in names.tags}
    # one metric after another: lists of all their values would take twice the memory
    metrics = {name: _numbers_of(_joined(_values(piece, name) for piece in pieces)) for name in names.metrics}
    return SampleColumns(count=sum(part.count for part in parts), fields=fields, metrics=metrics, tags=tags), names


def _joined(values: Iterable[Iterable[Any]]) -> list[Any]:
    return [*chain.from_iterable(values)]


def _values(piece: Sequence[SampleRow] | SampleColumns, metric: str) -> Iterable[float | None]:
    if isinstance(piece, SampleColumns):
        return piece.metrics[metric] if metric in piece.metrics else repeat(None, piece.count)
    return [row.metrics.get(metric) for row in piece]


def _numbers_of(values: list[float | None]) -> pa.Array:
    """Numbers as an array that has NaN in the place of nulls, so that NumPy reads it where it is."""
    column, numbers = pa.array(values, pa.float64()), np.array(values, np.float64)
    return pa.Array.from_buffers(pa.float64(), len(column), [column.buffers()[0], pa.py_buffer(numbers)])


def _of_rows(rows: Sequence[SampleRow], names: Names) -> SampleColumns:
    fields = dict(zip(SampleRow.__struct_fields__, zip(*map(astuple, rows), strict=True), strict=True))
    del fields["metrics"], fields["tags"]
    found = {name for row in rows for name in row.tags}
    tags = {name: [row.tags.get(name) for row in rows] for name in names.tags if name in found}
    return SampleColumns(count=len(rows), fields=fields, metrics={}, tags=tags)


_READ = ("prompt", "question", "response", "group", "index", "length", "reward")
_WRITTEN = ("prompt", "prompt_hash", "response", "response_end", "response_chars", "stamp")
WAITING_CHARS = 2**18
"""The most characters of rows whose texts are cut together."""


class SampleCollector:
    """Collects the samples of a scan, and cuts their texts to the length that lists show.

    The samples of a group, which mostly follow each other, share one prompt.
    """

    def __init__(self) -> None:
        self._pieces: list[list[SampleRow] | SampleColumns] = []
        self._rows: list[SampleRow] = []
        self._chars = 0
        self._prompt, self._known = "", ("", 0, "")

    def add(self, row: SampleRow) -> None:
        """Add a sample."""
        row.messages = None
        self._rows.append(row)
        self._chars += len(row.prompt) + len(row.response)
        if self._chars > WAITING_CHARS:
            self._cut_rows()

    def add_all(self, samples: SampleColumns) -> None:
        """Add many samples."""
        self._cut_rows()
        samples.fields = {**samples.fields, **self._cut(samples.fields, samples.count), **_causes(samples.fields)}
        self._pieces.append(samples)

    def finish(self) -> tuple[SampleColumns, Names]:
        """All samples as columns, and the names of their metrics and tags."""
        self._cut_rows()
        return columns_of(self._pieces)

    def _cut_rows(self) -> None:
        rows, self._rows, self._chars = self._rows, [], 0
        if rows:
            short = self._cut({name: [getattr(row, name) for row in rows] for name in _READ}, len(rows))
            for row, *values in zip(rows, *(short[name] for name in _WRITTEN), strict=True):
                row.prompt, row.prompt_hash, row.response, row.response_end, row.response_chars, row.stamp = values
                row.cause = row.cause or cause_of(row.status, row.status_raw)
            self._pieces.append(rows)

    def _cut(self, fields: Mapping[str, Sequence[Any]], count: int) -> dict[str, Sequence[Any]]:
        """Cut texts, and return with them the length, the hash and the stamp of the whole."""
        responses, groups = fields["response"], fields["group"]
        of_prompts = map(self._of_prompt, fields["prompt"], fields.get("question", repeat(0, count)), groups)
        prompts, hashes, ends = zip(*of_prompts, strict=True)
        rewards = fields.get("reward", repeat(None, count))
        facts = zip(groups, fields["index"], fields["length"], rewards, ends, responses, strict=True)
        stamps = [
            f"{group} {index} {length} {reward!r} {asked} {response[:40]} {response[-40:]}"
            for group, index, length, reward, asked, response in facts
        ]
        return {
            "prompt": prompts,
            "prompt_hash": hashes,
            "response": [response[:PREVIEW_CHARS] for response in responses],
            "response_end": [response[-END_CHARS:] if len(response) > PREVIEW_CHARS else "" for response in responses],
            "response_chars": [*map(len, responses)],
            "stamp": [zlib.crc32(stamp.encode("utf-8", "replace")) for stamp in stamps],
        }

    def _of_prompt(self, prompt: str, question: int, group: str) -> tuple[str, int, str]:
        """Return the preview of a prompt, its hash, and its ends."""
        if prompt != self._prompt or not prompt or prompt.isspace():
            preview = text.preview(prompt[question:] or prompt, PREVIEW_CHARS)
            self._known = preview, prompt_hash_of(prompt, group), f"{prompt[:40]} {prompt[-40:]}"
            self._prompt = prompt
        return self._known


def _causes(fields: Mapping[str, Sequence[Any]]) -> dict[str, Sequence[str]]:
    causes = [*map(cause_of, fields.get("status", ()), fields.get("status_raw", ()))]
    return {"cause": causes} if any(causes) else {}


def prompt_hash_of(prompt: str, group: str) -> int:
    """Identify a prompt across steps, even if its groups have other names."""
    name = prompt if prompt and not prompt.isspace() else f"\0{group}"
    digest = hashlib.blake2b(name.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)
