"""Readers of every framework's files: files become rows, and one record becomes a `Sample`.

Code above this package sees the common model alone. docs/adding-a-format.md shows how to add a format, here or in a
package of its own. Heavy modules are imported on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rolloupe.formats.base import Format
    from rolloupe.formats.discovery import Discovery, Note, discover, discover_begun, distinct, may_begin
    from rolloupe.formats.reading.field_map import checked_fields, fields_in, read_fields
    from rolloupe.formats.reading.files import compression_of, listing_once
    from rolloupe.formats.reading.stream import extent, known_length, open_binary
    from rolloupe.formats.registry import BUILT_IN, all_formats, built_in_formats, by_name

_MODULES = {
    "base": ("Format",),
    "discovery": ("Discovery", "Note", "discover", "discover_begun", "distinct", "may_begin"),
    "reading.field_map": ("checked_fields", "fields_in", "read_fields"),
    "reading.files": ("compression_of", "listing_once"),
    "reading.stream": ("extent", "known_length", "open_binary"),
    "registry": ("BUILT_IN", "all_formats", "built_in_formats", "by_name"),
}
_LATE = {name: f"rolloupe.formats.{module}" for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import heavy modules on first use."""
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_LATE[name]), name)
    globals()[name] = value
    return value
