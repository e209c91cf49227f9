"""Curves of trackers: in the folder of a run, beside it, or at a path that a person names; and runs of curves alone.

Discovery asks the format `Curves` last, so a folder with samples never becomes a run of curves. Its rules are strict:
names and contents must both fit, and a table of numbers in a folder of source code is not a run. A tracker's run
that lies in the folder of another run, or beside it under its name, holds the curves of that run (`hosts_of`).
"""

import contextlib
import os
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from operator import itemgetter
from pathlib import Path
from string import digits
from typing import Any, NamedTuple

from msgspec.structs import replace

from rolloupe.errors import UnreadablePath
from rolloupe.formats.base import Format, changed
from rolloupe.formats.generic.keys import has_text, roles_of
from rolloupe.formats.reading import files
from rolloupe.formats.reading.peek import look
from rolloupe.formats.reading.stream import open_binary
from rolloupe.formats.reading.trackers import curves, sqlite, tensorboard
from rolloupe.formats.reading.trackers.framed_log import FramedLog, SwanLabLog, WandbLog
from rolloupe.formats.reading.trackers.tensorboard import EventLog, is_event_file
from rolloupe.formats.reading.trainer_files import described_files, json_sources
from rolloupe.formats.registry import by_name
from rolloupe.lru import Lru
from rolloupe.model import Location, Locator, RunFile, RunInfo, Sample, SampleRow, Scanned, Source
from rolloupe.storage import file_state, is_below, is_file, is_folder, stamp_of_state

FOLDERS = frozenset((
    "events", "lightning_logs", "logs", "metrics", "runs", "swanlog", "tb", "tb_logs", "tensorboard",
    "tensorboard_log", "tensorboard_logs", "trackio", "wandb",
))  # fmt: skip
"""Folders of trackers in the folder of a run, or beside it."""
ASIDE = frozenset(("media", "latest-run"))
"""Folders of trackers without curves of their own."""
MAX_DEPTH = 4
MAX_FOLDERS = 500
MAX_EVALUATIONS = 20
KEPT_VALUES = 5_000_000
"""The most numbers of such files that stay in memory."""
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
"""Kinds whose files hold nothing but curves: they are found without being named."""
DATABASES = ("trackio", "MLflow")
"""Kinds that are databases: their tables identify them."""
OFFLINE = ("Weights & Biases", "SwanLab")
"""Kinds that keep a run in each file, with its name."""
USUAL_NAMES = frozenset((
    "metrics.csv", "progress.csv", "train_metrics.csv", "curves.csv", "train_metrics.jsonl", "trainer_state.json",
))  # fmt: skip
PLAIN_NAMES = USUAL_NAMES | {"metrics.jsonl"}
"""Names of tables with curves; some formats read a `metrics.jsonl` of their own."""
_BESIDE_SAMPLES = files.SILENT_WORDS | {"debug", "details"}
EMPTY = "it is empty so far"
"""Why a file without content is not read."""
ALONE = "curves"
"""The format of runs that hold nothing but curves."""
OF_TRACKERS = frozenset((ALONE, "trackio", "wandb", "tensorboard", "swanlab", "mlflow"))


class CurveFile(NamedTuple):
    """The files of one run of a tracker, or a database of several runs."""

    kind: str
    path: str
    """The file, or the folder of several."""
    locations: tuple[Location, ...]
    is_beside: bool = False
    """True if only a run of the same name in it counts."""
    is_named: bool = False
    """True if a person named it (`--metrics`)."""


def curve_files(run: RunInfo) -> list[CurveFile]:
    """List the curves of a run: in its folder, beside it, and at the paths of its reading."""
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
        for folder in (os.path.join(above, name) for name in sorted(FOLDERS))
        if is_folder(folder) and os.path.realpath(folder) != os.path.realpath(home)
        for file in _below(folder, above, 1, [MAX_FOLDERS])
        if file.kind != "TensorBoard" or os.path.basename(file.path) == run.name
    ]
    paths = {os.path.realpath(file.path) for file in named}
    return [*(file for file in [*own, *beside] if not paths or os.path.realpath(file.path) not in paths), *named]


def home_of(root: str) -> str:
    """Return the parent of a folder that, by its name, holds only a run's samples; any other folder as it is."""
    folder, name = os.path.split(root)
    words = {bare for word in files.words_in(name) if (bare := word.strip(digits))}
    return folder if words & files.SAMPLE_WORDS and words <= _BESIDE_SAMPLES else root


def usual_tables(run: RunInfo) -> list[str]:
    """Return the paths of the tables that hold a run's curves; discovery has to have searched their folder."""
    home, links = home_of(run.root), files.links_of(run)
    folders = {run.root, home if is_below(home, links) else run.root}
    listed = (file for folder in folders for file in _files(folder, _entries(folder, links), names=PLAIN_NAMES))
    return [file.path for file in listed if file.kind not in BY_THEMSELVES]


def without_curves(run: RunInfo) -> list[str]:
    """List the paths that a person named and that hold no curves."""
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
    """Return the beginnings of a run's curves, which hold configurations: the newest of each tracker first.

    In a database with several runs, only the run with the name of this one counts.
    """
    looks: list[tuple[str, str, curves.LoggedRun]] = []
    for file in curve_files(run):
        if file.kind == "trackio":
            runs, configs = sqlite.project_runs(file.locations[0]), sqlite.database_configs(file.locations[0])
            only = runs if len(runs) == 1 and not file.is_beside else []
            named = [logged for logged in runs if logged.name == run.name] or only
            if last := next(reversed(named), None):
                looks.append((file.kind, file.path, curves.LoggedRun(last.name, [], configs.get(last.id, {}))))
        elif not file.is_beside or _is_of(file, run):
            when = os.path.basename if file.kind == "TensorBoard" else str
            looks += [(file.kind, when(location.path), begins_as(location, file.kind)) for location in file.locations]
    return [logged for *_, logged in sorted(looks, key=itemgetter(0, 1), reverse=True)]


def check_named(runs: Sequence[RunInfo]) -> None:
    """Raise `UnreadablePath` for named curves that belong to none of several runs."""
    for path in runs[0].reading.metrics if len(runs) > 1 else ():
        named = [*_named(path)]
        if named and not any(_is_of(file, run) for file in named for run in runs):
            names = ", ".join(dict.fromkeys(run.name for run in runs[:10]))
            raise UnreadablePath(
                f"{path} has the name of none of the {len(runs)} runs that are open ({names}), so its curves may "
                "belong to any. Next: choose one with --run, in Python run=, or name file or folder like the run"
            )


def _is_of(file: CurveFile, run: RunInfo) -> bool:
    if is_below(file.path, run.root) or run.name in path_names(file):
        return True
    if file.kind in DATABASES:
        return any(run.name == logged.name for logged in sqlite.project_runs(file.locations[0]))
    return file.kind in OFFLINE and begins_as(file.locations[0], file.kind).name == run.name


def path_names(file: CurveFile) -> list[str]:
    """List the names of a run that the path of its curves suggests: those of the file and its folder."""
    folder, name = os.path.split(file.path)
    return [name, os.path.splitext(name)[0], os.path.basename(folder)]


def kind_of(name: str) -> str:
    """Return the kind of a file by its name; empty for a file of no tracker."""
    return next((kind for kind, fits in KINDS.items() if fits(name)), "")


def stamps_of(file: CurveFile) -> list[tuple[object, ...]]:
    """Return the states of all files of some curves: a change of any file changes them."""
    stamps: list[tuple[object, ...]] = []
    for location in file.locations:
        beside = [sqlite.side_file(location, ending) for ending in sqlite.SIDE_FILES] if file.kind in DATABASES else []
        for place in (location, *beside):
            with contextlib.suppress(OSError):
                stamps.append((place.path, *stamp_of_state(file_state(place))))
    return stamps


class _CurvesInMemory:
    """The curves last read from a file, and the reader that continues from there."""

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
    """Read the runs of a file; a given reader continues where it stopped. Raises `ValueError` with the reason."""
    first = file.locations[0]
    try:
        if file.kind in _GROWING:
            runs = (reader or curves.LogReader(_GROWING[file.kind])).read(file.locations)
            sizes = [file_state(location).st_size for location in file.locations]
            if not runs[0].rows and not runs[0].damage and not any(sizes):
                raise ValueError(EMPTY)
            return _noted(runs) if max(sizes) > curves.MAX_BYTES else runs
        if file.kind == "trackio":
            return [*sqlite.read_database(first, sqlite.runs_of_trackio).values()]
        if file.kind == "MLflow":
            return sqlite.read_database(first, sqlite.runs_of_mlflow)
        with open_binary(first) as opened:
            data = opened.read(curves.MAX_BYTES + 1)
        if not data:
            raise ValueError(EMPTY)
        if len(data) <= curves.MAX_BYTES:
            return [_READERS[file.kind](data)]
        if file.kind == "trainer state":
            raise ValueError(f"it has more than {curves.MAX_BYTES:,} bytes")
        whole = data.rfind(b"\n", 0, curves.MAX_BYTES) + 1  # a number cut short is a different number
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


def _named(path: str) -> Iterator[CurveFile]:
    if is_file(path):
        yield file_named(path)
    elif is_folder(path):
        yield from _below(path, path, 1, [MAX_FOLDERS], also=frozenset(("CSV", "JSON lines", "trainer state")))


def file_named(path: str) -> CurveFile:
    """Return the curves of a file that a person named: JSON lines, unless its name or beginning says otherwise."""
    location = files.alone(path)
    kind = kind_of(os.path.basename(path)) or "JSON lines"
    return CurveFile(sqlite.database_kind(location) if sqlite.is_database(location) else kind, path, (location,))


def _alone(path: str, link_root: str) -> Iterator[CurveFile]:
    """The curves of a run without samples. In folders of trackers, a kind counts only if it has one run there."""
    if is_file(path):
        yield file_named(path)
        return
    listed = _entries(path, link_root)
    own = [*_files(path, listed, names=PLAIN_NAMES)]
    yield from own
    below = _of_trackers(listed, link_root)
    evaluations = {file for file in (*own, *below) if evaluation_of(file.kind, file.path)}
    counts = Counter(file.kind for file in (*own, *below) if file not in evaluations)
    yield from (file for file in below if file in evaluations or counts[file.kind] == 1)


def _of_trackers(listed: list[files.FolderEntry], link_root: str) -> list[CurveFile]:
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
    few = [*islice((entry for entry in own if evaluation_of(kind_of(entry.name), entry.name)), MAX_EVALUATIONS + 1)]
    known = names | {entry.name for entry in few if len(few) <= MAX_EVALUATIONS and _has_scores(entry.location)}
    for entry in own:
        kind = kind_of(entry.name)
        if kind == "TensorBoard" or not (kind in BY_THEMSELVES or kind in also or entry.name in known):
            continue
        if kind != "trackio" or sqlite.is_database(entry.location):
            kind = sqlite.database_kind(entry.location) if kind == "trackio" else kind
            yield CurveFile(kind, entry.path, (entry.location,))


def evaluation_of(kind: str, path: str) -> str:
    """Return what precedes the names of metrics in the table of an evaluation, such as `eval.csv`; else empty."""
    name = files.plain_name(os.path.basename(path)) if kind in ("CSV", "JSON lines") else ""
    words = files.words_in(name.rpartition(".")[0].replace("held_out", "heldout"))
    rest = words[1:] if words[:1] == ["eval"] else words
    return "/".join(("eval", *rest, "")) if words and words[0] in files.EVAL_WORDS else ""


def _entries(folder: str, link_root: str) -> list[files.FolderEntry]:
    return files.folders(folder, link_root) + files.files(folder, link_root, ("",))


HEAD_BYTES = 64 * 2**10
LOOKED_ROWS = 8
MOST_NAME_CHARS = 200
EVENTS = b"brain.Event:"
"""The first event of TensorBoard has this text, followed by its version."""


class Beginning(curves.LoggedRun):
    """The run at the beginning of a file. If `fits` is False, the content does not match the name."""

    fits: bool = False


_NOTHING = Beginning("", [])


@files.while_unchanged(1024, errors=(OSError,), otherwise=_NOTHING)
def begins_as(location: Location, kind: str) -> Beginning:
    """Look at the beginning of a file of some kind; an unreadable file does not fit."""
    if kind == "JSON lines":
        return _of_rows(curves.rows_of(look(location).objects))
    with open_binary(location) as file:
        head = file.read(HEAD_BYTES)
        is_whole = not file.peek(1)
    if kind == "TensorBoard":
        known = tensorboard.read_beginning(head)
        return Beginning("", known.rows, known.config, fits=EVENTS in head[:64])
    if kind == "trainer state":
        return Beginning("", [], fits=b'"log_history"' in head and b'"global_step"' in head)
    with contextlib.suppress(ValueError):
        if kind == "CSV":
            return _of_rows(curves.read_csv(head if is_whole else head[: head.rfind(b"\n") + 1]).rows)
        run = _FRAMED[kind].whole(head)
        name = run.name if run.name.isprintable() and len(run.name) <= MOST_NAME_CHARS else ""
        return Beginning(name, [], run.config, fits=True)
    return _NOTHING


@files.while_unchanged(1024, errors=(OSError, ValueError), otherwise=False)
def _has_scores(location: Location) -> bool:
    """Tell whether the rows at the beginning of a table have steps of their own, and no texts of samples."""
    with open_binary(location) as file:
        head = file.read(HEAD_BYTES)
    head = head[: head.rfind(b"\n") + 1] or head
    if kind_of(location.path) == "CSV":
        names, *cells = curves.CsvTable(head).cells()
        texts = [{k: v for k, v in zip(names, row, strict=False) if v and curves.parsed(v) is None} for row in cells]
        logged = curves.read_csv(head).rows
    else:
        texts = [row for line in head.splitlines() if isinstance(row := curves.parsed(line), dict)]
        logged = [*curves.rows_of(texts)]
    is_long = any(isinstance(cell, str) and len(cell) > MOST_NAME_CHARS for row in texts for cell in row.values())
    has_steps = _of_rows(logged).fits and len({row.step for row in logged}) == len(logged)
    return has_steps and not (is_long or any(has_text(row, roles_of(row)) for row in texts))


def _of_rows(rows: Iterable[curves.LoggedRow]) -> Beginning:
    """Rows of a table are curves if each of the first rows has a whole number as its step, and one more number."""
    first = [*islice(rows, LOOKED_ROWS)]
    fits = bool(first)
    for row in first:
        steps = [name for name in curves.TRAINER_STEPS if curves.is_step(row.values.get(name, 0.5))]
        fits = fits and len(row.values) > len(steps) and (row.step is not None or bool(steps))
    return Beginning("", first, fits=fits)


_OF_CODE = frozenset((
    ".git", "Cargo.toml", "__init__.py", "conftest.py", "go.mod", "package.json", "pyproject.toml", "setup.cfg",
    "setup.py",
))  # fmt: skip
"""A folder with one of these holds source code: a table of numbers in it is not a run."""


class Curves(Format):
    """Curves of a tracker, without samples."""

    name = ALONE
    title = "Curves without samples"
    endings = sqlite.ENDINGS
    has_samples = False

    def detect(self, path: Path, *, forced: bool = False, link_root: str = "") -> list[RunInfo]:
        if files.is_one_file(path):
            return self._of_file(file_named(str(path)).kind, path, forced=forced)
        links = link_root or str(path.resolve())
        try:
            listed = [entry for entry in files.entries(str(path), links) if not (entry.is_folder or entry.refused)]
        except OSError:
            return []
        named = [(kind, entry) for entry in listed if (kind := kind_of(entry.name))]
        return self._of_folder(path, named, links) if named else []

    def _of_folder(self, folder: Path, named: list[tuple[str, files.FolderEntry]], links: str) -> list[RunInfo]:
        offline = [entry for kind, entry in named if kind in OFFLINE and begins_as(entry.location, kind).fits]
        kinds: dict[str, None] = {}
        for kind, entry in named:  # event files, and tables under the names that trainers give them
            is_saved = kind == "trainer state" and re.fullmatch(r"checkpoint-\d+", folder.name)
            is_table = entry.name in PLAIN_NAMES and not is_saved
            is_code = is_table and any(beside.name in _OF_CODE for beside in files.entries(str(folder), links))
            if (kind == "TensorBoard" or (is_table and not is_code)) and begins_as(entry.location, kind).fits:
                kinds[kind] = None
        if offline and (kinds or len(offline) == 1):
            kinds |= dict.fromkeys(kind_of(entry.name) for entry in offline)
        if kinds:
            names = [begins_as(entry.location, kind_of(entry.name)).name for entry in offline if len(offline) == 1]
            name = next(filter(None, names), folder.name)
            return [self._run(folder, name, f"curves of {', '.join(kinds)}, no samples", links)]
        runs = [run for entry in offline for run in self._of_file(kind_of(entry.name), Path(entry.path), links=links)]
        for kind, entry in named:
            rows = look(entry.location).objects if kind == "JSON lines" else ()
            is_verl = bool(rows) and all({*row} == {"step", "data"} and isinstance(row["data"], dict) for row in rows)
            if kind == "trackio" or is_verl:
                runs += self._of_file(kind, Path(entry.path), links=links)
        return runs

    def _of_file(self, kind: str, path: Path, *, forced: bool = False, links: str = "") -> list[RunInfo]:
        """The runs in a file; a link counts only if it leads below `links`."""
        location = Location(str(path), links or str(path))
        if kind in DATABASES:
            if sqlite.why_unread(location):  # by the format of its samples
                return []
            reason = f"a run of a database of {sqlite.database_kind(location)}, no samples"
            return [self._run(path, run.name, reason, links, run.id) for run in sqlite.project_runs(location)]
        seen = begins_as(location, kind)
        if not (seen.fits or (forced and kind != "JSON lines")):
            return []
        bare = files.stem(path.name) if kind_of(path.name) in ("", "JSON lines", "TensorBoard") else path.stem
        return [self._run(path, seen.name or bare, f"curves of {kind}, one file, no samples", links)]

    def _run(self, root: Path, name: str, reason: str, links: str, within: str = "") -> RunInfo:
        return replace(self._run_at(root, reason, links, name), within=within)

    def sources(self, run: RunInfo) -> list[Source]:
        """See `Format`. The sources hold curves alone; the run follows them, and their scan yields nothing."""
        return json_sources(run.root, (location for file in curve_files(run) for location in file.locations))

    def scan(self, run: RunInfo, source: Source, start: int, stop: int) -> Iterator[Scanned]:  # noqa: ARG002
        return iter(())

    def load(self, run: RunInfo, source: Source, locator: Locator) -> Sample:  # noqa: ARG002
        raise changed(source, locator.start, "it holds curves alone")

    def config(self, run: RunInfo) -> dict[str, Any]:
        return config_of(run)

    def files(self, run: RunInfo) -> list[RunFile]:
        return described_files(curve_locations(run))


LOOKED_SOURCES = 64
SCANNED_ROWS = 256
LOOKED_BYTES = 2**20
"""The bytes of a source that are searched for splits, if it can be read in parts."""
UNSEEN = (
    "the run {name} has the splits of its samples as well, so it only adds its curves to that run. Next: name it to "
    "open it as a run"
)


def hosts_of(runs: Sequence[RunInfo]) -> list[tuple[RunInfo, RunInfo]]:
    """Return the trackers' runs that belong to other runs, each with the run that it belongs to."""
    folders = {run.root: run for run in runs if run.format not in OF_TRACKERS and is_folder(run.root)}
    for root, run in [*folders.items()]:
        folders.setdefault(home_of(root), run)
    beside = {(os.path.dirname(root), os.path.basename(root)): run for root, run in folders.items()}
    return [
        (run, host)
        for run in runs
        if run.format in OF_TRACKERS and folders and (host := _host(run, folders, beside)) is not None
    ]


def _host(run: RunInfo, folders: dict[str, RunInfo], beside: dict[tuple[str, str], RunInfo]) -> RunInfo | None:
    place = Path(run.root)
    for folder in (place, *place.parents):
        if host := folders.get(str(folder)):
            return host
        names = (run.name, place.name) if folder.name.lower() in FOLDERS else ()
        if host := next((beside[key] for name in names if (key := (str(folder.parent), name)) in beside), None):
            return host
    return None


def has_more_splits(run: RunInfo, host: RunInfo) -> bool:
    """Tell whether a run has a split that `host` lacks: verl may log its validations to a tracker alone."""
    own = _splits(run)
    return bool(own) and not own <= _splits(host)


def _splits(run: RunInfo) -> set[str]:
    reader = by_name(run.format)
    stop = LOOKED_BYTES if reader.splittable else 2**62
    return {
        row.split
        for source in reader.sources(run)[:LOOKED_SOURCES]
        for row in islice(reader.scan(run, source, 0, stop), SCANNED_ROWS)
        if isinstance(row, SampleRow)
    }
