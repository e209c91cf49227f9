"""What a `.pt` file is, from its first samples: of an archive only the beginning is read, finished or not.

Sources: `Sample.to_dict` and the writers of dumps in slime, miles and Relax.
"""

import struct
from collections.abc import Collection
from typing import Any, Final

from rolloupe.formats.reading.pickles import UnreadablePickle, Window, beginning, torch_file
from rolloupe.formats.reading.pickles.torch_files import LEGACY, ZIP
from rolloupe.lru import Lru
from rolloupe.model import Location
from rolloupe.storage import open_file, path_state, stamp_of_state

BEGINNINGS = (2**17, 2**22)
"""Bytes to look at: more of them only if the first ones do not tell."""

KEPT_LOOKS = 4096

SLIME: Final = "slime"
MILES: Final = "miles"
RELAX: Final = "relax"
TRAIN: Final = "train"
"""What the trainer made of samples: numbers, and no texts."""

OF_SAMPLE: Final = frozenset(("tokens", "response", "response_length", "status"))
OF_MILES: Final = frozenset(("rollout_indexer_topk", "adapter", "reward_spec", "routing_key"))
OF_RELAX: Final = frozenset(("decoded_tokens",))
OF_TRAIN: Final = frozenset(("tokens", "response_lengths", "total_lengths"))

_HEADER = struct.Struct("<26x2H")
_looks: Lru[tuple[Location, tuple[int, int, int]], str] = Lru(KEPT_LOOKS)


def kind_of(location: Location) -> str:
    """Return which framework wrote a dump of samples, `TRAIN` for a dump of train data, empty for anything else."""
    try:
        state = path_state(location.path)
        key = location, stamp_of_state(state)
        known = _looks.get(key)
        if known is None:
            known = _look(location, state.st_size)
            _looks.put(key, known)
    except (OSError, UnreadablePickle):
        return ""
    return known


def _look(location: Location, size: int) -> str:
    found = ""
    for count in BEGINNINGS:
        found = found or _kind(_first_values(location, count))
        if size <= count:
            break
    return found


def _first_values(location: Location, count: int) -> list[Any]:
    """Some values from the beginning of what a file describes. Raises OSError and `UnreadablePickle`."""
    with open_file(location) as file:
        data = file.read(count)
    if data.startswith(LEGACY):
        return _members(torch_file(location).root)
    if not data.startswith(ZIP) or len(data) < _HEADER.size:
        raise UnreadablePickle("no file of PyTorch")
    name_bytes, extra_bytes = _HEADER.unpack_from(data)
    if not data[_HEADER.size : _HEADER.size + name_bytes].endswith(b"data.pkl"):
        return _members(torch_file(location).root)
    values = beginning(Window.of(data[_HEADER.size + name_bytes + extra_bytes :]))
    return _members(values[0]) if len(values) == 1 else values


def _members(root: Any) -> list[Any]:
    """The keys and values of a dict, and the members of lists in it."""
    if not isinstance(root, dict):
        return []
    inner = [one for value in root.values() if isinstance(value, list) for one in value[:4]]
    return [*root, *root.values(), *inner]


def _kind(values: Collection[Any]) -> str:
    words = {one for one in values if isinstance(one, str)}
    if "rollout_id" not in words:
        return ""
    for keys in (one.keys() for one in values if isinstance(one, dict)):
        if keys >= OF_TRAIN:
            return TRAIN
        if keys >= OF_SAMPLE and "samples" in words:
            return RELAX if keys >= OF_RELAX else MILES if keys & OF_MILES or "metadata" in words else SLIME
    return TRAIN if "rollout_data" in words or "format_version" in words else ""
