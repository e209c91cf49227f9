"""The names of the files in a `log_path` of the Tinker cookbook, in both layouts, and the meaning of each.

Flat (until March 2026): `{base}_iteration_{step:06d}{suffix}`; since then `iteration_{step:06d}/{base}{suffix}`. `base`
is `train` or `eval_{label}`. A run that continued after an upgrade has both.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, NamedTuple

from rolloupe.formats.reading import fields
from rolloupe.formats.reading.files import FolderEntry, files, folders, plain_name

Kind = Literal["rollouts", "tree", "page"]

ROLLOUTS = "_rollout_summaries.jsonl"
SUFFIXES: dict[str, Kind] = {ROLLOUTS: "rollouts", "_logtree.json": "tree", ".html": "page"}
ITERATION = re.compile(r"iteration_([0-9]+)")
MAX_FILES = 50_000
"""Maximum number of files of one run to list."""

METRICS, CONFIG, CHECKPOINTS, DIFF = "metrics.jsonl", "config.json", "checkpoints.jsonl", "code.diff"

_SUFFIX = "|".join(re.escape(suffix) for suffix in SUFFIXES)
_FLAT = re.compile(
    rf"(?P<base>train|eval_(?P<label>.+))_iteration_(?P<step>[0-9]{{6,}})(?P<suffix>{_SUFFIX})", re.DOTALL
)
"""Greedy: a label may hold `_iteration_000001` itself, so the last one counts."""

_INSIDE = re.compile(rf"(?P<base>train|eval_(?P<label>.+?))(?P<suffix>{_SUFFIX})", re.DOTALL)

NOT_SAMPLES = (METRICS, CHECKPOINTS, "timing_spans.jsonl", "trace_events.jsonl")
_ITEMS: dict[Kind, str] = {"rollouts": "rollouts", "tree": "log, as a tree", "page": "log, as a page"}
_WHAT = {
    METRICS: "metrics",
    CONFIG: "configuration",
    CHECKPOINTS: "checkpoints",
    DIFF: "changes of the code",
    "logs.log": "log",
    "timing_spans.jsonl": "timing",
    "trace_events.jsonl": "trace",
}
_GANTT = re.compile(r"timing_gantt(_[0-9]+)?\.html")
_BEFORE = re.compile(r"metrics\.jsonl\.pre_resume_[0-9]+")


class StepFile(NamedTuple):
    """A file that belongs to a step, as its name declares. `name` is its path relative to the run's folder."""

    path: str
    name: str
    kind: Kind
    split: str | None
    step: int | None
    flat: bool
    root: str


def find(folder: str, link_root: str, kinds: Iterable[Kind] = ("rollouts", "tree", "page")) -> list[StepFile]:
    """List the files of a run by step and split, those of the older layout first."""
    suffixes = tuple(suffix for suffix, kind in SUFFIXES.items() if kind in tuple(kinds))
    iteration = ITERATION.fullmatch(Path(folder).name)
    step = fields.integer(iteration[1]) if iteration else None
    found = [named for e in files(folder, link_root, suffixes) if (named := _at_top(e, step))]
    for below in folders(folder, link_root):
        if number := ITERATION.fullmatch(below.name):
            step = fields.integer(number[1])
            listed = files(below.path, link_root, suffixes)
            found += [named for e in listed if (named := _inside(e, f"{below.name}/{e.name}", step))]
    return sorted(found, key=lambda n: (-1 if n.step is None else n.step, n.split or "", not n.flat, n.name))


def of_file(path: Path, root: str) -> StepFile:
    """Identify a file of samples by its name and its folder's."""
    number = ITERATION.fullmatch(path.parent.name)
    entry = FolderEntry(path.name, str(path), False, 0, root)
    found = _at_top(entry, fields.integer(number[1]) if number else None)
    return found or StepFile(str(path), path.name, "rollouts", None, None, False, root)


def _at_top(entry: FolderEntry, step: int | None) -> StepFile | None:
    match = _FLAT.fullmatch(plain_name(entry.name))
    number = fields.integer(match["step"]) if match else None
    if match is None or number is None:
        inside = _inside(entry, entry.name, step)
        return inside if step is not None or (inside and inside.kind == "rollouts") else None
    return StepFile(entry.path, entry.name, SUFFIXES[match["suffix"]], _split(match), number, True, entry.root)


def _inside(entry: FolderEntry, name: str, step: int | None) -> StepFile | None:
    match = _INSIDE.fullmatch(plain_name(entry.name))
    if match:
        return StepFile(entry.path, name, SUFFIXES[match["suffix"]], _split(match), step, False, entry.root)
    if plain_name(entry.name).endswith(ROLLOUTS):
        return StepFile(entry.path, name, "rollouts", None, step, False, entry.root)
    return None


def _split(match: re.Match[str]) -> str:
    return "train" if match["base"] == "train" else f"eval/{match['label']}"


def prefixes(folder: str, link_root: str) -> list[str]:
    """Return the prefixes of the metrics files in a folder: usually one, empty."""
    return [plain_name(entry.name).removesuffix(METRICS) for entry in files(folder, link_root, (METRICS,))]


def described(folder: str, link_root: str, prefix: str) -> list[tuple[str, str, str]]:
    """List the files of a run's folder: path, name, and description. With a prefix, only files with that prefix."""
    by_path = {} if prefix else {named.path: named for named in find(folder, link_root)}
    listed = [
        (e.path, e.name, e.name.removeprefix(prefix))
        for e in files(folder, link_root, ("",))
        if e.name.startswith(prefix)
    ]
    for below in [] if prefix else folders(folder, link_root):
        if ITERATION.fullmatch(below.name):
            listed += [(e.path, f"{below.name}/{e.name}", e.name) for e in files(below.path, link_root, ("",))]
    return [(path, name, _what(by_path.get(path), base_name)) for path, name, base_name in listed[:MAX_FILES]]


def _what(named: StepFile | None, base_name: str) -> str:
    if named is not None:
        place = "" if named.step is None else f", step {named.step}"
        return f"{_ITEMS[named.kind]}: {named.split or 'unknown split'}{place}"
    plain = plain_name(base_name)
    if _GANTT.fullmatch(plain):
        return "timing chart"
    return "metrics before a resume" if _BEFORE.fullmatch(plain) else _WHAT.get(plain, "")
