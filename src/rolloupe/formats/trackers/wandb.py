"""Tables of samples in the runs that the client of Weights & Biases keeps on disk, also offline.

Source: wandb 0.31.0. A table is `files/media/table/{key}_{step}_{hash}.table.json`, with folders for slashes of the
key; `run-{id}.wandb` says what was logged beside it, once a block of 32 KiB is full.
"""

import contextlib
import os
import re
from typing import Any

from rolloupe.formats.reading.files import FolderEntry, entries, links_of
from rolloupe.formats.trackers.table_files import EVAL, TableFile, TableFiles
from rolloupe.formats.trainers.trl import RewardFunctions, reward_functions
from rolloupe.model import RunInfo

MAX_DEPTH = 8
"""The deepest folder: each slash in a key makes one."""
MOST_FILES = 100_000
_TABLE = re.compile(r"(?P<key>.+)_(?P<step>[0-9]{1,15})_(?P<hash>[0-9a-f]{8,64})\.table\.json")


class WeightsAndBiases(TableFiles):
    """Tables of Weights & Biases."""

    name = "wandb"
    title = "Weights & Biases"
    media = ("files", "media", "table")
    folder = re.compile(r"(?:offline-)?run-[0-9]{8}_[0-9]{6}-(?P<id>.+)")

    def tables(self, run: RunInfo) -> list[TableFile]:
        folder = os.path.join(run.root, *self.media)
        logged = self.logged(run).tables
        files: list[FolderEntry] = []
        waiting = [(folder, 0)]
        while waiting and len(files) < MOST_FILES:
            place, depth = waiting.pop()
            with contextlib.suppress(OSError):
                listed = [entry for entry in entries(place, links_of(run)) if not entry.refused]
                files += [entry for entry in listed if not entry.is_folder]
                waiting += [(entry.path, depth + 1) for entry in listed if entry.is_folder and depth < MAX_DEPTH]
        tables = []
        for entry in files:
            name = os.path.relpath(entry.path, folder)
            if match := _TABLE.fullmatch(name):
                known = logged.get("/".join((*self.media[1:], name)))
                order = int(match["step"])
                step = order if known is None or known.step is None else known.step
                split = EVAL if known and known.follows_eval else ""
                tables.append(TableFile(entry, match["key"], order, step, split))
        return tables

    def table_rows(self, document: Any) -> list[Any]:
        columns, data = document.get("columns"), document.get("data")
        if not (isinstance(columns, list) and isinstance(data, list)):
            return []
        return [dict(zip(map(str, columns), row, strict=False)) for row in data if isinstance(row, list)]

    def reward_functions(self, run: RunInfo) -> RewardFunctions:
        logged = self.logged(run)
        return reward_functions(logged.config, (row.values for row in logged.rows))
