"""Tables of samples in the runs that SwanLab keeps on disk.

Source: SwanLab 0.7.20 (`media/{n}/echarts-step{step}-{hash}.json`) and 0.10.3 (`media/echarts/{step}-{hash}.json`). The
log of the run names the key of each; 0.10 writes it when the run ends.
"""

import os
import re
from typing import Any

from rolloupe.formats.reading.files import entries, file_of, links_of
from rolloupe.formats.reading.trackers.curves import LoggedTable
from rolloupe.formats.reading.trainer_files import read_text
from rolloupe.formats.trackers.table_files import TableFile, TableFiles
from rolloupe.model import RunInfo

MEDIA, TABLES = "media", "echarts"
MAX_CONFIG_BYTES = 2**20
_TABLE = re.compile(r"(?:echarts-step)?(?P<step>[0-9]{1,15})-[0-9a-f]{6,64}\.json")


class SwanLab(TableFiles):
    """Tables of SwanLab."""

    name = "swanlab"
    title = "SwanLab"
    media = (MEDIA,)
    folder = re.compile(r"run-[0-9]{8}_[0-9]{6}-(?P<id>.+)")

    def tables(self, run: RunInfo) -> list[TableFile]:
        logged, links = self.logged(run).tables, links_of(run)
        try:
            folders = [entry for entry in entries(os.path.join(run.root, MEDIA), links) if entry.is_folder]
            own = [folder for folder in folders if folder.name == TABLES] or folders  # to those of 0.10 others link
            files = [file for folder in own for file in entries(folder.path, links)]
        except OSError:
            return []
        tables = []
        for entry in files:
            if not (entry.is_folder or entry.refused) and (match := _TABLE.fullmatch(entry.name)):
                step = int(match["step"])
                folder_name = os.path.basename(os.path.dirname(entry.path))
                known = logged.get(entry.name, LoggedTable(folder_name, step))
                is_named = entry.name in logged or folder_name != TABLES
                tables.append(TableFile(entry, known.key, step, known.step, is_named=is_named))
        return tables

    def table_rows(self, document: Any) -> list[Any]:
        rows = document.get("rowData") if document.get("_swanLab") == "table" else None
        return rows if isinstance(rows, list) else []

    def config(self, run: RunInfo) -> dict[str, Any]:
        from rolloupe.formats.reading.yaml_values import yaml_settings

        folder = os.path.join(run.root, "files")
        settings = yaml_settings(read_text(file_of(folder, "config.yaml", links_of(run)), MAX_CONFIG_BYTES))
        stated = {key: setting for key, setting in settings.items() if isinstance(setting, dict)}
        return {key: setting["value"] for key, setting in stated.items() if "value" in setting}
