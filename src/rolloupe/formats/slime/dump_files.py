"""Dumps of a run: their places, their names (`rollout_data/12.pt`, `eval_12.pt`), and the framework that wrote each.

Of an archive only the beginning is read, finished or not. Sources: `Sample.to_dict` and the writers of dumps in slime,
miles and Relax.
"""

import os
import re
import struct
import time
from collections.abc import Callable, Collection, Sequence, Sized
from typing import Any, Final, NamedTuple, TypeVar, cast

from rolloupe.formats.reading.files import entries, files, links_of, while_unchanged
from rolloupe.formats.reading.pickles import UnreadablePickle, Window, beginning, torch_file
from rolloupe.formats.reading.pickles.torch_files import LEGACY, ZIP
from rolloupe.lru import Lru
from rolloupe.model import Location, RunInfo, RunPart
from rolloupe.storage import is_file, is_remote, open_file, path_state

ROLLOUTS: Final = "rollout_data"
TRAIN_DATA: Final = "train_data"
ENDING: Final = (".pt",)

_NAME = re.compile(r"(?:.*?(?P<eval>(?<![A-Za-z])eval_))?(?:.*\D)?(?P<step>\d{1,15})\.pt", re.DOTALL)
_TRAIN = re.compile(r"(?P<step>\d{1,15})(?:_(?P<rank>\d{1,9}))?\.pt")

SETTLED_NS: Final = 2 * 10**9
"""A folder that changed within this time may change again without another time of change."""

KEPT_FILES: Final = 100_000
"""The most files of such folders whose listings are kept."""

T = TypeVar("T", bound=Sized)
_kept: Lru[tuple[object, ...], Sized] = Lru(total=KEPT_FILES)

BEGINNINGS = (2**17, 2**22)
"""Bytes to look at: more of them only if the first ones do not tell."""

KEPT_LOOKS = 4096

SLIME: Final = "slime"
MILES: Final = "miles"
RELAX: Final = "relax"
TRAIN: Final = "train"
"""The trainer's own data about samples: numbers without texts."""

OF_SAMPLE: Final = frozenset(("tokens", "response", "response_length", "status"))
OF_MILES: Final = frozenset(("rollout_indexer_topk", "adapter", "reward_spec", "routing_key"))
OF_RELAX: Final = frozenset(("decoded_tokens",))
OF_TRAIN: Final = frozenset(("tokens", "response_lengths", "total_lengths"))

_HEADER = struct.Struct("<26x2H")


class DumpFile(NamedTuple):
    """A dump of the samples of a step; the step is None if the name holds no number."""

    location: Location
    step: int | None
    is_eval: bool


class TrainFile(NamedTuple):
    """The trainer's data about the samples of a step, of all ranks or of one."""

    location: Location
    step: int
    rank: int


def dump_of(location: Location) -> DumpFile:
    """Return what the name of a dump says."""
    match = _NAME.fullmatch(os.path.basename(location.path))
    return DumpFile(location, int(match["step"]) if match else None, bool(match and match["eval"]))


def may_hold_dumps(folder: str, links: str) -> bool:
    """Return whether the names in a folder leave room for dumps: nearly all folders have none."""
    try:
        listed = entries(folder, links)
    except OSError:
        return False
    return any(entry.name.endswith(ENDING) or (entry.is_folder and entry.name == ROLLOUTS) for entry in listed)


def dumps_in(folder: str, links: str) -> Sequence[DumpFile]:
    """List the dumps of a folder in the order of steps, evaluations behind the train files."""
    return _while_same(_dumps_in, folder, links)


def _dumps_in(folder: str, links: str) -> tuple[DumpFile, ...]:
    dumps = [dump_of(entry.location) for entry in files(folder, links, ENDING)]
    return tuple(sorted(dumps, key=lambda dump: (dump.is_eval, -1 if dump.step is None else dump.step, dump.location)))


def train_files_in(root: str, links: str) -> Sequence[TrainFile]:
    """List the dumps of train data of a run, in the order of steps and ranks."""
    return _while_same(_train_files_in, os.path.join(root, TRAIN_DATA), links)


def _train_files_in(folder: str, links: str) -> tuple[TrainFile, ...]:
    matches = [
        (entry.location, match) for entry in files(folder, links, ENDING) if (match := _TRAIN.fullmatch(entry.name))
    ]
    train_files = [TrainFile(location, int(match["step"]), int(match["rank"] or 0)) for location, match in matches]
    return tuple(sorted(train_files, key=lambda file: (file.step, file.rank, file.location)))


def _while_same(listed: Callable[[str, str], T], folder: str, links: str) -> T:
    """List a folder again only once it has changed: of each file of a run one asks what else is there."""
    try:
        state = path_state(folder)
    except OSError:
        return listed(folder, links)
    if is_remote(folder) or time.time_ns() - state.st_mtime_ns < SETTLED_NS:
        return listed(folder, links)
    key = (listed, folder, links, state.st_ino, state.st_mtime_ns)
    return cast("T", _kept.get_or_make(key, lambda: listed(folder, links), len))


def dumps_of(part: RunPart, links: str) -> Sequence[DumpFile]:
    """List the dumps of samples in a part of a run."""
    if is_file(part.path):
        return [dump_of(Location(part.path, links))]
    dumps = dumps_in(part.path, links)
    if os.path.basename(part.path) == ROLLOUTS:
        return dumps
    return [dump for dump in dumps if kind_of(dump.location) not in ("", TRAIN)]  # beside other files of PyTorch


def train_files(run: RunInfo) -> Sequence[TrainFile]:
    """List the dumps of train data of a run, in the order of steps and ranks."""
    return () if is_file(run.root) else train_files_in(run.root, links_of(run))


def train_files_of(run: RunInfo, step: int | None) -> list[Location]:
    """List the dumps of train data of a step."""
    return [file.location for file in train_files(run) if file.step == step]


def state_of(location: Location) -> str:
    """Return what changes when a file is written."""
    try:
        state = path_state(location.path)
    except OSError:
        return ""
    return f"{state.st_ino}-{state.st_size}-{state.st_mtime_ns}"


def kind_of(location: Location) -> str:
    """Return which framework wrote a dump of samples, `TRAIN` for a dump of train data, empty for anything else."""
    try:
        return _look(location)
    except (OSError, UnreadablePickle):
        return ""


@while_unchanged(KEPT_LOOKS)
def _look(location: Location) -> str:
    kind, size = "", path_state(location.path).st_size
    for count in BEGINNINGS:
        kind = kind or _kind(_first_values(location, count))
        if size <= count:
            break
    return kind


def _first_values(location: Location, count: int) -> list[Any]:
    """Return the first values that a file describes. Raises OSError and `UnreadablePickle`."""
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
    inner = [member for value in root.values() if isinstance(value, list) for member in value[:4]]
    return [*root, *root.values(), *inner]


def _kind(values: Collection[Any]) -> str:
    words = {value for value in values if isinstance(value, str)}
    if "rollout_id" not in words:
        return ""
    for keys in (value.keys() for value in values if isinstance(value, dict)):
        if keys >= OF_TRAIN:
            return TRAIN
        if keys >= OF_SAMPLE and "samples" in words:
            return RELAX if keys >= OF_RELAX else MILES if keys & OF_MILES or "metadata" in words else SLIME
    return TRAIN if "rollout_data" in words or "format_version" in words else ""
