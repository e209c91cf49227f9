"""One module a framework layout: what it recognises, how its files become rows, and one record a `Sample`.

Everything above sees the common model alone. A format is added by a module here and an entry in `registry`.
"""

from rolloupe.formats.describe import describe
from rolloupe.formats.discovery import Discovery, Note, discover
from rolloupe.formats.reading.field_map import checked_fields, read_fields
from rolloupe.formats.reading.files import compression_of
from rolloupe.formats.reading.stream import extent, known_length, open_binary
from rolloupe.formats.registry import FORMATS, by_name

__all__ = [
    "FORMATS",
    "Discovery",
    "Note",
    "by_name",
    "checked_fields",
    "compression_of",
    "describe",
    "discover",
    "extent",
    "known_length",
    "open_binary",
    "read_fields",
]
