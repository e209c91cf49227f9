"""The complete texts of a segment: a convenience for searches, which otherwise read the sources."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from rolloupe.index.segments.kind import Backfilled, Beside, PartRecords, SegmentKind, until
from rolloupe.index.segments.segment import SegmentMeta, write_groups, write_parquet
from rolloupe.model import SampleRow

VERSION = 1
TEXT = ".text.parquet"
"""The ending of the file names, for all versions."""
GROUP_CHARS = 2**25
"""The texts of a row group, which is built in memory. Samples may share a text of megabytes: then there are several."""
CONTENTS = b"contents"
"""The key of the digest of the source that the texts are from: a file of the same name may be of other rows."""

SCHEMA = pa.schema(
    [("byte_start", pa.int64()), ("part", pa.string()), ("prompt", pa.string()), ("response", pa.string())]
)


def text_of(path: Path) -> Path:
    """The path of a segment's texts."""
    return path.with_name(f"{path.stem}.{VERSION}{TEXT}")


def text_table_of(rows: Sequence[SampleRow]) -> pa.Table:
    """Build the text table of some rows, in the order of the scalar table."""
    columns = {
        "byte_start": [row.start for row in rows],
        "part": [row.part for row in rows],
        "prompt": [row.prompt for row in rows],
        "response": [row.response for row in rows],
    }
    return pa.Table.from_pydict(columns, schema=SCHEMA)


def _is_written(path: Path, _: SegmentMeta, __: Beside) -> bool:
    return text_of(path).exists()


def _write(path: Path, records: PartRecords) -> None:
    schema = SCHEMA.with_metadata({CONTENTS: records.meta.fingerprint.contents})
    groups = [*_groups(records.rows)]
    if len(groups) == 1:
        write_parquet(text_of(path), text_table_of(groups[0]).cast(schema))
    else:
        write_groups(text_of(path), schema, map(text_table_of, until(records.ended, groups)))


def _groups(rows: Sequence[SampleRow]) -> Iterator[Sequence[SampleRow]]:
    """The rows of each row group."""
    first = chars = 0
    for number, row in enumerate(rows):
        chars += len(row.prompt) + len(row.response)
        if chars >= GROUP_CHARS:
            yield rows[first : number + 1]
            first, chars = number + 1, 0
    if first < len(rows):
        yield rows[first:]


TEXTS = SegmentKind("texts", VERSION, TEXT, is_budgeted=True, backfilled=Backfilled(_is_written, _write))
