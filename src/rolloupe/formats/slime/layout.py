"""Where dumps of samples lie, and what their names say: `rollout_data/12.pt`, `eval_12.pt`, `debug_12.pt`."""

import os
import re
import time
from collections.abc import Callable, Sequence, Sized
from typing import Final, NamedTuple, TypeVar, cast

from rolloupe.formats.reading.files import entries, files, links_of
from rolloupe.formats.slime.peek import TRAIN, kind_of
from rolloupe.lru import Lru
from rolloupe.model import Location, RunInfo, RunPart
from rolloupe.storage import is_file, is_remote, path_state

ROLLOUTS: Final = "rollout_data"
TRAIN_DATA: Final = "train_data"
ENDING: Final = (".pt",)

_NAME = re.compile(r"(?:.*?(?P<eval>(?<![A-Za-z])eval_))?(?:.*\D)?(?P<step>\d{1,15})\.pt", re.DOTALL)
_TRAIN = re.compile(r"(?P<step>\d{1,15})(?:_(?P<rank>\d{1,9}))?\.pt")

SETTLED_NS: Final = 2 * 10**9
"""A folder that changed within this time may change again without another time of change."""

KEPT_FILES: Final = 100_000
"""How many files of such folders stay listed."""

T = TypeVar("T", bound=Sized)
_kept: Lru[tuple[object, ...], Sized] = Lru(total=KEPT_FILES)


class DumpFile(NamedTuple):
    """A dump of the samples of a step; the step is None if the name holds no number."""

    location: Location
    step: int | None
    is_eval: bool


class TrainFile(NamedTuple):
    """What the trainer made of the samples of a step, on all ranks or on one."""

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
    return any(one.name.endswith(ENDING) or (one.is_folder and one.name == ROLLOUTS) for one in listed)


def dumps_in(folder: str, links: str) -> Sequence[DumpFile]:
    """List the dumps of a folder in the order of steps, evaluations behind the train files."""
    return _while_same(_dumps_in, folder, links)


def _dumps_in(folder: str, links: str) -> tuple[DumpFile, ...]:
    found = (dump_of(entry.location) for entry in files(folder, links, ENDING))
    return tuple(sorted(found, key=lambda one: (one.is_eval, -1 if one.step is None else one.step, one.location.path)))


def sample_dumps_in(folder: str, links: str) -> list[DumpFile]:
    """List the dumps of a folder that also holds other files of PyTorch: those whose beginnings are samples."""
    return [one for one in dumps_in(folder, links) if kind_of(one.location) not in ("", TRAIN)]


def train_files_in(root: str, links: str) -> Sequence[TrainFile]:
    """List the dumps of train data of a run, in the order of steps and ranks."""
    return _while_same(_train_files_in, os.path.join(root, TRAIN_DATA), links)


def _train_files_in(folder: str, links: str) -> tuple[TrainFile, ...]:
    found = (
        TrainFile(entry.location, int(match["step"]), int(match["rank"] or 0))
        for entry in files(folder, links, ENDING)
        if (match := _TRAIN.fullmatch(entry.name))
    )
    return tuple(sorted(found, key=lambda one: (one.step, one.rank, one.location.path)))


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
    return dumps_in(part.path, links) if os.path.basename(part.path) == ROLLOUTS else sample_dumps_in(part.path, links)


def train_files_of(run: RunInfo, step: int | None) -> list[Location]:
    """List the dumps of train data of a step."""
    found = [] if is_file(run.root) else train_files_in(run.root, links_of(run))
    return [one.location for one in found if one.step == step]


def state_of(location: Location) -> str:
    """Return what changes when a file is written."""
    try:
        state = path_state(location.path)
    except OSError:
        return ""
    return f"{state.st_ino}-{state.st_size}-{state.st_mtime_ns}"
