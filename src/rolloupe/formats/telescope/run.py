"""What a Telescope run holds beside its samples: the trainer's metrics, the configuration, ranges, files."""

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rolloupe.formats.reading import fields
from rolloupe.formats.reading import trainer_files as trainer
from rolloupe.formats.reading.files import file_of, links_of
from rolloupe.formats.reading.zipped_tables import Unreadable, taken
from rolloupe.formats.telescope.archives import SUMMARY, archives_of, tables_of
from rolloupe.model import Checkpoint, Location, LoggedTranscript, LogNode, MetricRow, RunFile, RunInfo, Source

CONFIG, HISTORY = "config.json", "history.jsonl"
MAX_METRIC_ROWS = 5_000_000
_WHAT = {
    CONFIG: "configuration",
    SUMMARY: "summary of the run",
    HISTORY: "metrics",
    "run.json": "the run in W&B",
    "code/source.zip": "code",
    "code/metadata.json": "what code was kept",
}
Range = tuple[str, float, float]


class Ranges(NamedTuple):
    """What a run declares: the reward's range over all environments, by environment, and those of sample metrics."""

    reward: tuple[float, float] | None
    rewards: tuple[Range, ...]
    metrics: tuple[Range, ...]


class TelescopeFiles:
    """The `TrainerFiles` of Telescope."""

    def metrics(self, run: RunInfo) -> list[MetricRow]:
        """See `TrainerFiles`. Those of the archives, and what W&B's history has beyond them."""
        rows = [*_history(run)]
        for archive in archives_of(run):
            try:
                table = tables_of(archive.location).table("metrics")
            except Unreadable:
                continue
            if table is not None:
                found = taken(table, np.arange(min(table.num_rows, MAX_METRIC_ROWS)))
                rows += [{"step": row.get("step"), _metric_name(row): row.get("value")} for row in found]
        return trainer.merged_metrics(rows)

    def beside(self, run: RunInfo) -> list[Source]:
        """See `HasBeside`."""
        return trainer.json_sources(run.root, [_file(run, name) for name in (HISTORY, CONFIG, SUMMARY)])

    def config(self, run: RunInfo) -> dict[str, Any]:
        """See `TrainerFiles`. What W&B's summary says beyond numbers stands under `summary`."""
        found = trainer.read_json(_file(run, CONFIG))
        summary = trainer.read_json(_file(run, SUMMARY))
        config = found if isinstance(found, dict) else {}
        if isinstance(summary, dict):
            config |= {"summary": {key: _parsed(value) for key, value in summary.items()}}
        return config

    def checkpoints(self, run: RunInfo) -> list[Checkpoint]:  # noqa: ARG002
        """See `TrainerFiles`. Its checkpoints are not among the files of a run."""
        return []

    def code_diff(self, run: RunInfo) -> str:  # noqa: ARG002
        """See `TrainerFiles`. The archives hold the code itself, not a difference."""
        return ""

    def files(self, run: RunInfo) -> list[RunFile]:
        """See `TrainerFiles`."""
        if not os.path.isdir(run.root):
            return trainer.described_files([(run.root, Path(run.root).name, "samples")])
        found = [(archive.path, archive.name, "samples") for archive in archives_of(run)]
        found += [(one.path, name, what) for name, what in _WHAT.items() if (one := _file(run, name))]
        return trainer.described_files(found)

    def logtrees(self, run: RunInfo) -> list[tuple[str, int]]:  # noqa: ARG002
        """See `TrainerFiles`."""
        return []

    def logtree(self, run: RunInfo, split: str, step: int) -> LogNode | None:  # noqa: ARG002
        """See `TrainerFiles`."""
        return None

    def conversations(self, run: RunInfo, split: str, step: int) -> list[LoggedTranscript]:  # noqa: ARG002
        """See `TrainerFiles`."""
        return []


def ranges_of(folder: Path, links: str) -> Ranges:
    """Read the ranges that the config and the summary of a run declare."""
    config, summary = (trainer.read_json(_below(folder, name, links or str(folder))) for name in (CONFIG, SUMMARY))
    rewards = []
    for one in _listed(config, "environments"):
        low, high = fields.number(one.get("reward_min")), fields.number(one.get("reward_max"))
        if (name := fields.name(one.get("name"))) and low is not None and high is not None and low < high:
            rewards.append((name, low, high))
    metrics: dict[str, Range] = {}
    for one in (*_listed(summary, "env_details"), *_listed(summary, "eval_env_details")):
        declared = one.get("metrics_ranges")
        for name, bounds in declared.items() if isinstance(declared, dict) else ():
            if found := _range(name, bounds):
                metrics.setdefault(name, found)
    span = (min(low for _, low, _ in rewards), max(high for _, _, high in rewards)) if rewards else None
    return Ranges(span, tuple(rewards), tuple(metrics.values()))


def _range(name: str, bounds: Any) -> Range | None:
    if not isinstance(bounds, dict):
        return None
    low, high = fields.number(bounds.get("min")), fields.number(bounds.get("max"))
    if low is None or high is None or not low < high:
        return None
    return (name, high, low) if bounds.get("invert") is True else (name, low, high)


def _listed(document: Any, key: str) -> list[dict[str, Any]]:
    value = _parsed(document.get(key)) if isinstance(document, dict) else None
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _parsed(value: Any) -> Any:
    """What a text that holds JSON stands for; any other value as it is."""
    if not (isinstance(value, str) and value[:1] in ("[", "{")):
        return value
    try:
        return fields.showable(json.loads(value))
    except (ValueError, RecursionError):
        return value


def _history(run: RunInfo) -> list[dict[str, Any]]:
    return [{**row, "step": row.get("_step")} for row in trainer.records(_file(run, HISTORY))]


def _metric_name(row: dict[str, Any]) -> str:
    parts = (row.get("section"), row.get("group"), row.get("metric"))
    return "/".join(part for part in parts if isinstance(part, str) and part) or "metric"


def _file(run: RunInfo, name: str) -> Location | None:
    """Where one of the files beside the archives lies, None where there is none that may be read."""
    return _below(Path(run.root), name, links_of(run)) if os.path.isdir(run.root) else None


def _below(folder: Path, name: str, links: str) -> Location | None:
    path = folder / name
    return file_of(str(path.parent), path.name, links)
