"""Where a Tinker run keeps what it logs for an iteration: flat files, or files in a folder of the iteration."""

import re
from pathlib import Path
from typing import Final, NamedTuple

from rolloupe.formats._files import Entry, entries, is_below

SUMMARIES: Final = "_rollout_summaries.jsonl"
LOGTREE: Final = "_logtree.json"
HTML: Final = ".html"

_WHAT = r"(?P<what>\.html|_logtree\.json|_rollout_summaries\.jsonl)"
_FLAT = re.compile(rf"(?P<base>train|eval_.+)_iteration_(?P<step>\d{{6,18}}){_WHAT}")
_FOLDER = re.compile(r"iteration_(?P<step>\d{1,18})")
_INSIDE = re.compile(rf"(?P<base>train|eval_.+?){_WHAT}")


class LogFile(NamedTuple):
    """A file of an iteration; `what` is the end of its name."""

    path: str
    name: str
    split: str
    step: int
    what: str
    is_flat: bool


def log_files(root: str, links: str) -> list[LogFile]:
    """List the files of all iterations below a run's folder, flat ones first; none where it lies outside of `links`."""
    if not is_below(str(Path(root).resolve()), links):
        return []
    flat: list[LogFile] = []
    inside: list[LogFile] = []
    for entry in _entries(root, links):
        if not entry.is_folder and (match := _FLAT.fullmatch(entry.name)):
            flat.append(_file(entry.path, entry.name, match, int(match["step"]), is_flat=True))
        elif entry.is_folder and (folder := _FOLDER.fullmatch(entry.name)):
            for one in _entries(entry.path, links):
                if not one.is_folder and (match := _INSIDE.fullmatch(one.name)):
                    name = f"{entry.name}/{one.name}"
                    inside.append(_file(one.path, name, match, int(folder["step"]), is_flat=False))
    return flat + inside


def log_file(path: Path) -> LogFile | None:
    """What a single file is by its name; None where it is none of an iteration's."""
    if match := _FLAT.fullmatch(path.name):
        return _file(str(path), path.name, match, int(match["step"]), is_flat=True)
    folder, match = _FOLDER.fullmatch(path.parent.name), _INSIDE.fullmatch(path.name)
    return _file(str(path), path.name, match, int(folder["step"]), is_flat=False) if folder and match else None


def _file(path: str, name: str, match: re.Match[str], step: int, *, is_flat: bool) -> LogFile:
    base = match["base"]
    split = "train" if base == "train" else f"eval/{base.removeprefix('eval_')}"
    return LogFile(path, name, split, step, match["what"], is_flat)


def _entries(folder: str, links: str) -> list[Entry]:
    try:
        return [entry for entry in entries(folder, links) if not entry.refused]
    except OSError:
        return []
