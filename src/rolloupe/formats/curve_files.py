"""Curves that a tracker keeps in or beside a run, or where a person says: found by their names, then read.

In the folder of a run, and in the usual folders of trackers there (`wandb/`, `tensorboard/`, `runs/`, ...), everything
that a tracker wrote belongs to the run. Beside it, only what has the name of the run. A folder that is called
`rollouts/` or the like is not the run's: that is the one around it.
"""

import contextlib
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from operator import itemgetter
from string import digits
from typing import Any, NamedTuple

from msgspec.structs import replace

from rolloupe.errors import UnreadablePath
from rolloupe.formats.reading import files
from rolloupe.formats.reading.peek import look
from rolloupe.formats.reading.stream import open_binary
from rolloupe.formats.reading.trackers import curves, sqlite, tensorboard
from rolloupe.formats.reading.trackers.framed_log import FramedLog, SwanLabLog, WandbLog
from rolloupe.formats.reading.trackers.tensorboard import EventLog, is_event_file
from rolloupe.formats.registry import by_name
from rolloupe.lru import Lru
from rolloupe.model import Location, RunInfo
from rolloupe.storage import file_state, is_below, is_file, is_folder, stamp_of_state

FOLDERS = frozenset((
    "events", "lightning_logs", "logs", "metrics", "runs", "swanlog", "tb", "tb_logs", "tensorboard",
    "tensorboard_log", "tensorboard_logs", "trackio", "wandb",
))  # fmt: skip
"""Folders of trackers in that of a run, or beside it."""
ASIDE = frozenset(("media", "latest-run"))
"""Folders of trackers without curves of their own."""
MAX_DEPTH = 4
MAX_FOLDERS = 500
"""Number of folders to look into for one run."""
KEPT_VALUES = 5_000_000
"""Numbers of such files that stay in memory."""
KINDS: dict[str, Callable[[str], bool]] = {
    "TensorBoard": is_event_file,
    "Weights & Biases": lambda name: name.startswith("run-") and name.endswith(".wandb"),
    "SwanLab": lambda name: name.endswith(".swanlab"),
    "trackio": lambda name: name.endswith(sqlite.ENDINGS),
    "CSV": lambda name: name.endswith((".csv", ".tsv")),
    "JSON lines": lambda name: name.endswith((".jsonl", ".ndjson")),
    "trainer state": lambda name: name == "trainer_state.json",
}
BY_THEMSELVES = frozenset(("TensorBoard", "Weights & Biases", "SwanLab", "trackio", "MLflow"))
"""Kinds that nobody need name, as their files hold nothing else."""
DATABASES = ("trackio", "MLflow")
"""Kinds that are databases, which tables tell from each other."""
OFFLINE = ("Weights & Biases", "SwanLab")
"""Kinds that keep a run in each file, with its name."""
USUAL_NAMES = frozenset(("metrics.csv", "progress.csv", "trainer_state.json"))
PLAIN_NAMES = USUAL_NAMES | {"metrics.jsonl"}
"""Names of tables with curves; some formats read a `metrics.jsonl` of their own."""
_BESIDE_SAMPLES = files.SILENT_WORDS | {"debug", "details"}
EMPTY = "it is empty so far"
"""Why a file is not read whose writer has not begun."""
ALONE = "curves"
"""The format of runs that hold nothing but curves."""
OF_TRACKERS = frozenset((ALONE, "trackio", "wandb", "tensorboard", "swanlab", "mlflow"))
"""The formats of runs that trackers hold."""


class CurveFile(NamedTuple):
    """The files of one run of a tracker, or a database of several runs."""

    kind: str
    path: str
    """The file, or the folder of several."""
    locations: tuple[Location, ...]
    is_beside: bool = False
    """True where only a run of the same name counts."""
    is_named: bool = False
    """True if a person named it (`--metrics`)."""


def curve_files(run: RunInfo) -> list[CurveFile]:
    """List the curves of a run: those in its folder, beside it, and where its reading says."""
    named = [
        file._replace(is_beside=run.reading.metrics_by_name and not is_below(file.path, run.root), is_named=True)
        for path in run.reading.metrics
        for file in _named(path)
    ]
    if run.format in OF_TRACKERS - {"mlflow"}:
        return [*(file for part in run.parts for file in _alone(part.path, files.links_of(run))), *named]
    if not is_folder(run.root):
        return named
    table = os.path.join(run.root, "metrics.jsonl")
    is_left = is_file(table) and all(source.path != table for source in by_name(run.format).trainer_files(run))
    names = PLAIN_NAMES if is_left else USUAL_NAMES  # the format may read that table itself
    listed = _entries(run.root, files.links_of(run))
    own = [*_files(run.root, listed, names=names), *_of_trackers(listed, files.links_of(run))]
    home = home_of(run.root)
    if home != run.root:
        own += _alone(home, home)
    above = os.path.dirname(os.path.abspath(home))
    beside = [
        file._replace(is_beside=True)
        for folder in sorted(FOLDERS)
        if is_folder(os.path.join(above, folder))
        and os.path.realpath(os.path.join(above, folder)) != os.path.realpath(home)
        for file in _below(os.path.join(above, folder), above, 1, [MAX_FOLDERS])
        if file.kind != "TensorBoard" or os.path.basename(file.path) == run.name
    ]
    paths = {os.path.realpath(file.path) for file in named}
    return [*(file for file in [*own, *beside] if not paths or os.path.realpath(file.path) not in paths), *named]


def home_of(root: str) -> str:
    """Return the folder around one that holds only the samples of a run, by its name; any other folder as it is."""
    folder, name = os.path.split(root)
    words = {bare for word in files.words_in(name) if (bare := word.strip(digits))}
    return folder if words & files.SAMPLE_WORDS and words <= _BESIDE_SAMPLES else root


def usual_tables(root: str) -> list[str]:
    """Return the paths at which tables with curves of a run would lie."""
    return [os.path.join(folder, name) for folder in {root, home_of(root)} for name in PLAIN_NAMES]


def without_curves(run: RunInfo) -> list[str]:
    """List the paths where a person says that curves are, and none are."""
    return [path for path in run.reading.metrics if next(_named(path), None) is None]


def curve_locations(run: RunInfo) -> Iterator[tuple[str, str, str]]:
    """Yield the files with the curves of a run: path, name in the folder of the run, and what wrote them."""
    folder = run.root if is_folder(run.root) else os.path.dirname(run.root)
    places = [(location, file.kind) for file in curve_files(run) for location in file.locations]
    places += [(sqlite.side_file(location, "-wal"), kind) for location, kind in places if kind in DATABASES]
    return ((place.path, os.path.relpath(place.path, folder), kind) for place, kind in places)


def config_of(run: RunInfo) -> dict[str, Any]:
    """Return the configuration that trackers hold of a run."""
    config: dict[str, Any] = {}
    for file in curve_files(run):
        with contextlib.suppress(ValueError):
            for logged in current_curves(file):
                if run.within in ("", logged.id):
                    config |= logged.config
    return config


def first_looks(run: RunInfo) -> list[curves.LoggedRun]:
    """Return what the beginnings of a run's curves show, the newest of each tracker first: the configuration above all.

    Of a database with several runs, only one with the name of this run counts.
    """
    looks: list[tuple[str, str, curves.LoggedRun]] = []
    for file in curve_files(run):
        if file.kind == "trackio":
            runs, configs = sqlite.project_runs(file.locations[0]), sqlite.database_configs(file.locations[0])
            only = runs if len(runs) == 1 and not file.is_beside else []
            named = [logged for logged in runs if logged.name == run.name] or only
            looks += [
                (file.kind, file.path, curves.LoggedRun(logged.name, [], configs.get(logged.id, {})))
                for logged in named[-1:]
            ]
        elif not file.is_beside or _is_of(file, run):
            when = os.path.basename if file.kind == "TensorBoard" else str
            looks += [(file.kind, when(location.path), begins_as(location, file.kind)) for location in file.locations]
    return [logged for *_, logged in sorted(looks, key=itemgetter(0, 1), reverse=True)]


def check_named(runs: Sequence[RunInfo]) -> None:
    """Raise `UnreadablePath` for named curves that are of none of several runs."""
    for path in runs[0].reading.metrics if len(runs) > 1 else ():
        named = [*_named(path)]
        if named and not any(_is_of(file, run) for file in named for run in runs):
            names = ", ".join(dict.fromkeys(run.name for run in runs[:10]))
            raise UnreadablePath(
                f"{path} has the name of none of the {len(runs)} runs that are open ({names}), so that its curves may "
                "be of any. Next: choose one with --run, in Python run=, or name the file, or its folder, like the run"
            )


def _is_of(file: CurveFile, run: RunInfo) -> bool:
    if is_below(file.path, run.root) or run.name in path_names(file):
        return True
    if file.kind in DATABASES:
        return any(run.name == logged.name for logged in sqlite.project_runs(file.locations[0]))
    return file.kind in OFFLINE and begins_as(file.locations[0], file.kind).name == run.name


def path_names(file: CurveFile) -> list[str]:
    """List the names of a run that the path of its curves may have: of the file, and of its folder."""
    folder, name = os.path.split(file.path)
    return [name, os.path.splitext(name)[0], os.path.basename(folder)]


def kind_of(name: str) -> str:
    """Return the kind of a file by its name; empty for one that is of no tracker."""
    return next((kind for kind, fits in KINDS.items() if fits(name)), "")


def stamps_of(file: CurveFile) -> list[tuple[object, ...]]:
    """Return the states of all files of some curves; they change with any of the files."""
    stamps: list[tuple[object, ...]] = []
    for location in file.locations:
        beside = [sqlite.side_file(location, ending) for ending in sqlite.SIDE_FILES] if file.kind in DATABASES else []
        for place in (location, *beside):
            with contextlib.suppress(OSError):
                stamps.append((place.path, *stamp_of_state(file_state(place))))
    return stamps


class _CurvesInMemory:
    """The curves last read from a file, and the reader that goes on from there."""

    def __init__(self, kind: str) -> None:
        self.lock = threading.Lock()
        self.reader = curves.LogReader(_GROWING[kind]) if kind in _GROWING else None
        self.stamps: list[tuple[object, ...]] | None = None
        self.runs: list[curves.LoggedRun] = []
        self.trouble = ""


_kept: Lru[tuple[str, str], _CurvesInMemory] = Lru(total=KEPT_VALUES)


def current_curves(file: CurveFile) -> list[curves.LoggedRun]:
    """Return the runs of a file, reading only its new rows. Raises `ValueError` as `read_curves` does."""
    name = file.kind, file.path
    kept = _kept.setdefault(name, _CurvesInMemory(file.kind))
    with kept.lock:
        stamps = stamps_of(file)
        if kept.stamps != stamps:
            try:
                kept.runs, kept.trouble = read_curves(file, kept.reader), ""
            except ValueError as error:
                kept.runs, kept.trouble = [], str(error)
            kept.stamps = stamps
            _kept.put(name, kept, 1 + sum(len(row.values) for run in kept.runs for row in run.rows))
        if kept.trouble:
            raise ValueError(kept.trouble)
        return kept.runs


def read_curves(file: CurveFile, reader: curves.LogReader | None = None) -> list[curves.LoggedRun]:
    """Read the runs of a file; a reader reads on from where it was. Raises `ValueError` with the reason."""
    first = file.locations[0]
    try:
        if file.kind in _GROWING:
            runs = (reader or curves.LogReader(_GROWING[file.kind])).read(file.locations)
            if not runs[0].rows and not runs[0].damage and not any(map(_size, file.locations)):
                raise ValueError(EMPTY)
            return _noted(runs) if any(_size(location) > curves.MAX_BYTES for location in file.locations) else runs
        if file.kind == "trackio":
            return [*sqlite.read_trackio(first).values()]
        if file.kind == "MLflow":
            return sqlite.read_mlflow(first)
        with open_binary(first) as opened:
            data = opened.read(curves.MAX_BYTES + 1)
        if not data:
            raise ValueError(EMPTY)
        if len(data) <= curves.MAX_BYTES:
            return [_READERS[file.kind](data)]
        if file.kind == "trainer state":
            raise ValueError(f"it has more than {curves.MAX_BYTES:,} bytes")
        whole = data.rfind(b"\n", 0, curves.MAX_BYTES) + 1  # half a number is another one
        return _noted([_READERS[file.kind](data[: whole if file.kind == "CSV" else curves.MAX_BYTES])])
    except (sqlite.BadDatabase, OSError) as error:
        raise ValueError(str(error)) from None


_FRAMED: dict[str, type[FramedLog]] = {"Weights & Biases": WandbLog, "SwanLab": SwanLabLog}
_GROWING: dict[str, Callable[[], curves.Log]] = {"TensorBoard": EventLog, "JSON lines": curves.JsonLines, **_FRAMED}
_READERS = {"CSV": curves.read_csv, "trainer state": curves.read_trainer_state}


def _noted(runs: list[curves.LoggedRun]) -> list[curves.LoggedRun]:
    """Note on the runs of a long file that its end is not read."""
    note = f"only the first {curves.MAX_BYTES:,} bytes of a file are read"
    return [replace(run, damage="; ".join(filter(None, (run.damage, note)))) for run in runs]


def _size(location: Location) -> int:
    return file_state(location).st_size


def _named(path: str) -> Iterator[CurveFile]:
    """The curves at a path that a person named."""
    if is_file(path):
        yield file_named(path)
    elif is_folder(path):
        yield from _below(path, path, 1, [MAX_FOLDERS], also=frozenset(("CSV", "JSON lines", "trainer state")))


def file_named(path: str) -> CurveFile:
    """Return the curves of a file that a person named: JSON lines, if neither name nor beginning say otherwise."""
    location = files.alone(path)
    kind = kind_of(os.path.basename(path)) or "JSON lines"
    return CurveFile(sqlite.database_kind(location) if sqlite.is_database(location) else kind, path, (location,))


def _alone(path: str, link_root: str) -> Iterator[CurveFile]:
    """The curves of a run that has no samples: of each kind in folders of trackers, only one run."""
    if is_file(path):
        yield file_named(path)
        return
    listed = _entries(path, link_root)
    own = [*_files(path, listed, names=PLAIN_NAMES)]
    yield from own
    below = _of_trackers(listed, link_root)
    counts = Counter(file.kind for file in [*own, *below])
    yield from (file for file in below if counts[file.kind] == 1)


def _of_trackers(listed: list[files.FolderEntry], link_root: str) -> list[CurveFile]:
    """The curves in folders of trackers among those of a run's folder."""
    left = [MAX_FOLDERS]
    folders = [entry.path for entry in listed if entry.is_folder and entry.name.lower() in FOLDERS]
    return [file for folder in folders for file in _below(folder, link_root, 1, left)]


def _below(
    folder: str, link_root: str, depth: int, left: list[int], also: frozenset[str] = frozenset()
) -> Iterator[CurveFile]:
    left[0] -= 1
    listed = _entries(folder, link_root)
    yield from _files(folder, listed, also)
    for entry in listed:
        if entry.is_folder and depth < MAX_DEPTH and left[0] > 0 and entry.name not in ASIDE:
            yield from _below(entry.path, link_root, depth + 1, left, also)


def _files(
    folder: str,
    listed: list[files.FolderEntry],
    also: frozenset[str] = frozenset(),
    names: frozenset[str] = USUAL_NAMES,
) -> Iterator[CurveFile]:
    own = [entry for entry in listed if not entry.is_folder]
    if events := tuple(entry.location for entry in own if is_event_file(entry.name)):
        yield CurveFile("TensorBoard", folder, events)
    for entry in own:
        kind = kind_of(entry.name)
        if kind == "TensorBoard" or not (kind in BY_THEMSELVES | also or entry.name in names):
            continue
        if kind != "trackio" or sqlite.is_database(entry.location):
            kind = sqlite.database_kind(entry.location) if kind == "trackio" else kind
            yield CurveFile(kind, entry.path, (entry.location,))


def _entries(folder: str, link_root: str) -> list[files.FolderEntry]:
    try:
        return [entry for entry in files.entries(folder, link_root) if not entry.refused]
    except OSError:
        return []


HEAD_BYTES = 64 * 2**10
LOOKED_ROWS = 8
MOST_NAME_CHARS = 200
EVENTS = b"brain.Event:"
"""The first event of TensorBoard says this, and its version."""
EVENTS_BYTES = 64


class Beginning(curves.LoggedRun):
    """The run that the beginning of a file shows. Without `fits`, its content does not match its name."""

    fits: bool = False


_NOTHING = Beginning("", [])


@files.while_unchanged(1024, errors=(OSError,), otherwise=_NOTHING)
def begins_as(location: Location, kind: str) -> Beginning:
    """Look at the beginning of a file of some kind; a file that cannot be read fits nothing."""
    if kind == "JSON lines":
        return _of_rows(curves.rows_of(look(location).objects))
    with open_binary(location) as file:
        head = file.read(HEAD_BYTES)
        is_whole = not file.peek(1)
    if kind == "TensorBoard":
        known = tensorboard.read_beginning(head)
        return Beginning("", known.rows, known.config, fits=EVENTS in head[:EVENTS_BYTES])
    if kind == "CSV":
        whole = head if is_whole else head[: head.rfind(b"\n") + 1]
        try:
            return _of_rows(curves.read_csv(whole).rows)
        except ValueError:
            return _NOTHING
    if kind == "trainer state":
        return Beginning("", [], fits=b'"log_history"' in head and b'"global_step"' in head)
    try:
        run = _FRAMED[kind].whole(head)
    except ValueError:
        return _NOTHING
    name = run.name if run.name.isprintable() and len(run.name) <= MOST_NAME_CHARS else ""
    return Beginning(name, [], run.config, fits=True)


def _of_rows(rows: Iterable[curves.LoggedRow]) -> Beginning:
    """Rows of a table are curves if each of the first has a step that is a whole number, and another number."""
    first = [*islice(rows, LOOKED_ROWS)]
    fits = bool(first)
    for row in first:
        steps = [name for name in curves.TRAINER_STEPS if curves.is_step(row.values.get(name, 0.5))]
        fits = fits and len(row.values) > len(steps) and (row.step is not None or bool(steps))
    return Beginning("", [], fits=fits)
