"""The one place that opens files of a run: no room above opens one by itself."""

from rolloupe.storage.local import (
    copy_file,
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
    "copy_file",
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
