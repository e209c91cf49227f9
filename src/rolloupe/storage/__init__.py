"""The one place that opens files of a run, on disks and in object stores: no room above opens one by itself."""

from rolloupe.storage.address import address_of, both_places, is_remote, own_place, place_of
from rolloupe.storage.local import is_below, printable
from rolloupe.storage.places import (
    REMOTE_DEVICE,
    Interrupted,
    StorageEntry,
    copy_file,
    expect,
    fetch_beginnings,
    fetch_soon,
    file_state,
    folder_entries,
    is_file,
    is_folder,
    open_file,
    open_state,
    path_state,
    real_path,
    trouble_at,
)

__all__ = [
    "REMOTE_DEVICE",
    "Interrupted",
    "StorageEntry",
    "address_of",
    "both_places",
    "copy_file",
    "expect",
    "fetch_beginnings",
    "fetch_soon",
    "file_state",
    "folder_entries",
    "is_below",
    "is_file",
    "is_folder",
    "is_remote",
    "open_file",
    "open_state",
    "own_place",
    "path_state",
    "place_of",
    "printable",
    "real_path",
    "trouble_at",
]
