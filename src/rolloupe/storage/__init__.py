"""Where the files of a run are opened: nothing above this room opens one by itself."""

from rolloupe.storage.local import (
    file_state,
    folder_entries,
    is_below,
    open_descriptor,
    open_file,
    printable,
    real_path,
)

__all__ = [
    "file_state",
    "folder_entries",
    "is_below",
    "open_descriptor",
    "open_file",
    "printable",
    "real_path",
]
