"""Tables of samples in the runs that SwanLab keeps on disk.

Source: SwanLab 0.7.20 (`media/{n}/echarts-step{step}-{hash}.json`) and 0.10.3 (`media/echarts/{step}-{hash}.json`). The
log of the run names the key of each; 0.10 writes it when the run ends.
"""

import os
import re
from pathlib import Path
from typing import Any

from rolloupe.formats.curve_files import current_curves, curve_files
from rolloupe.formats.reading.files import FolderEntry, entries, file_of, links_of
from rolloupe.formats.reading.trackers.beginnings import begins_as
from rolloupe.formats.reading.trackers.curves import LoggedRun, LoggedTable
from rolloupe.formats.reading.trainer_files import read_text
from rolloupe.formats.trackers.table_files import TableFile, TableFiles
from rolloupe.model import RunInfo, RunPart
from rolloupe.storage import is_folder

MEDIA, TABLES = "media", "echarts"
MAX_CONFIG_BYTES = 2**20

_TABLE = re.compile(r"(?:echarts-step)?(?P<step>[0-9]{1,15})-[0-9a-f]{6,64}\.json")
_FOLDER = re.compile(r"run-[0-9]{8}_[0-9]{6}-(?P<id>.+)")


class SwanLab(TableFiles):
    """Tables of SwanLab."""

    name = "swanlab"
    title = "SwanLab"
    recognises = "The folder of a run (`run-{date}_{time}-{id}`) with a table of samples below `media/`."
    layout = (
        "`{logdir}/run-{date}_{time}-{id}/media/{n}/echarts-step{step}-{hash}.json` (0.7), "
        "`media/echarts/{step}-{hash}.json` (0.10). [frameworks/trackers.md](frameworks/trackers.md) has the switches."
    )
    identity = (
        "step = `step` of a row, else that of the table; group = a hash of the prompt; index = the table and the row. "
        "Split `train`; `eval/NAME` by the key, and for the columns `step`, `input`, `output`, `score` of verl."
    )
    reads = (
        ("`step`, `input`, `output`, `score` (verl)", "turns, reward"),
        ("`prompt`, `completion`, the numbers right behind (ms-swift)", "turns; reward functions, and their sum"),
        ("other columns", "sample metrics, tags and extra"),
        ("`files/config.yaml`", "configuration"),
        ("`backup.swanlab`, `run-{id}.swanlab`", "metrics, and the keys of tables"),
    )
    limits = "NaN is null in a table. Until a run of 0.10 ends, its tables have no keys and no metrics beside them."

    def detect(self, path: Path, *, forced: bool = False, link_root: str = "") -> list[RunInfo]:  # noqa: ARG002
        """See `Format`."""
        if not is_folder(str(path / MEDIA)):
            return []
        links = link_root or str(path.resolve())
        run = RunInfo(
            name=_name(path, links), root=str(path), format=self.name, parts=(RunPart(str(path)),), link_root=links,
            reason="a run of SwanLab with tables of samples",
        )  # fmt: skip
        return [run] if self.sample_tables(run) else []

    def run_around(self, path: Path) -> Path | None:
        """See `Format`."""
        return next((one for one in path.parents if _FOLDER.fullmatch(one.name) and self.detect(one)), None)

    def tables(self, run: RunInfo) -> list[TableFile]:
        """See `TableFiles`."""
        logged = _logged(run).tables
        found = []
        for entry in _in_media(run.root, links_of(run)):
            match = _TABLE.fullmatch(entry.name)
            if match:
                step = int(match["step"])
                folder = os.path.basename(os.path.dirname(entry.path))
                known = logged.get(entry.name, LoggedTable(folder, step))
                is_named = entry.name in logged or folder != TABLES
                found.append(TableFile(entry, known.key, step, known.step, is_named=is_named))
        return found

    def table_rows(self, document: Any) -> list[Any]:
        """See `TableFiles`."""
        rows = document.get("rowData") if document.get("_swanLab") == "table" else None
        return rows if isinstance(rows, list) else []

    def config(self, run: RunInfo) -> dict[str, Any]:
        """See `Format`."""
        from rolloupe.formats.reading.settings.yaml_values import yaml_settings

        folder = os.path.join(run.root, "files")
        found = yaml_settings(read_text(file_of(folder, "config.yaml", links_of(run)), MAX_CONFIG_BYTES))
        return {key: one["value"] for key, one in found.items() if isinstance(one, dict) and "value" in one}


def _name(folder: Path, links: str) -> str:
    """The name in the log, else what tells the folder from others."""
    logs = [one for one in entries(str(folder), links) if one.name.endswith(".swanlab") and not one.is_folder]
    known = next((name for one in logs if (name := begins_as("SwanLab", one.location).name)), "")
    match = _FOLDER.fullmatch(folder.name)
    return known or (match["id"] if match else folder.name)


def _logged(run: RunInfo) -> LoggedRun:
    """What the log of a run holds; nothing of one that cannot be read."""
    for file in curve_files(run):
        if file.kind == "SwanLab" and os.path.dirname(file.path) == run.root:
            try:
                return next(iter(current_curves(file)), LoggedRun("", []))
            except ValueError:
                continue
    return LoggedRun("", [])


def _in_media(root: str, links: str) -> list[FolderEntry]:
    """The files in the folders of media; of 0.10 only those themselves, to which other folders link."""
    try:
        folders = [one for one in entries(os.path.join(root, MEDIA), links) if one.is_folder]
        own = [one for one in folders if one.name == TABLES] or folders
        return [one for place in own for one in entries(place.path, links) if not (one.is_folder or one.refused)]
    except OSError:
        return []
