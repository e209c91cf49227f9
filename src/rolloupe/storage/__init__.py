"""The one place that opens files of a run: no room above opens one by itself."""

from rolloupe.storage.local import (
    file_state,
    folder_entries,
    is_below,
    is_file,
    is_folder,
    open_descriptor,
    open_file,
    path_state,
    printable,
    real_path,
)

__all__ = [
    "file_state",
    "folder_entries",
    "is_below",
    "is_file",
    "is_folder",
    "open_descriptor",
    "open_file",
    "path_state",
    "printable",
    "real_path",
]
