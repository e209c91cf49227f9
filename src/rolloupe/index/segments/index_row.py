"""What the index keeps of a row: its numbers and names, and of its texts their starts and lengths.

A part of a source holds megabytes of text. A scan lets go of each row's as soon as it is read, so that they need not
all find room in memory; those that the index holds whole are written from a scan of their own.
"""

import hashlib
import zlib
from typing import NamedTuple

from rolloupe import text
from rolloupe.model import SampleRow

PREVIEW_CHARS = 240
END_CHARS = 160
"""More than a line of the list has room for."""


class IndexRow(NamedTuple):
    """A row whose texts are empty, and what stands for them."""

    row: SampleRow
    prompt_preview: str
    response_preview: str
    response_end: str
    """Empty where the preview holds all of it."""
    response_chars: int
    stamp: int
    """A number that tells a sample from another of the same place: of its numbers, and of the ends of its texts."""
    prompt_hash: int
    """A hash of the prompt, the same at every step; of the group's name where there is no prompt."""


def entry_of(row: SampleRow) -> IndexRow:
    """Make an entry of a row, which loses its texts."""
    prompt, response = row.prompt, row.response
    row.prompt = row.response = ""
    row.messages = None
    ends = " ".join(part for one in (prompt, response) for part in (one[:40], one[-40:]))
    told = f"{row.group} {row.index} {row.length} {row.reward!r} {ends}"
    return IndexRow(
        row,
        text.preview(prompt, PREVIEW_CHARS),
        text.one_line(response[:PREVIEW_CHARS]),
        text.one_line(response[-END_CHARS:]) if len(response) > PREVIEW_CHARS else "",
        len(response),
        zlib.crc32(told.encode("utf-8", "replace")),
        prompt_hash_of(prompt, row.group),
    )


def prompt_hash_of(prompt: str, group: str) -> int:
    """A number by which samples of one prompt are known across steps, where groups have other names at each."""
    name = prompt if prompt.strip() else f"\0{group}"
    digest = hashlib.blake2b(name.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)
