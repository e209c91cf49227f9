"""Facts about a Telescope run beyond its samples: the trainer's metrics, the configuration, ranges, files."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rolloupe.formats.reading import fields
from rolloupe.formats.reading import trainer_files as trainer
from rolloupe.formats.reading.files import file_of, links_of
from rolloupe.formats.reading.tables.zip_archives import Unreadable, taken
from rolloupe.formats.telescope.archives import SUMMARY, archives_of, tables_of
from rolloupe.model import Location, LoggedTranscript, LogNode, MetricRow, RunFile, RunInfo, Source
from rolloupe.storage import is_folder

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
    """The ranges that a run declares: of the reward over all environments, by environment, and of sample metrics."""

    reward: tuple[float, float] | None
    rewards: tuple[Range, ...]
    metrics: tuple[Range, ...]


class TelescopeFiles:
    """The trainer files of Telescope."""

    def metrics(self, run: RunInfo) -> list[MetricRow]:
        """See `Format`. Metrics of the archives, and metrics that only W&B's history has."""
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

    def trainer_files(self, run: RunInfo) -> list[Source]:
        """See `Format`."""
        return trainer.json_sources(run.root, [_file(run, name) for name in (HISTORY, CONFIG, SUMMARY)])

    def config(self, run: RunInfo) -> dict[str, Any]:
        """See `Format`. Members of W&B's summary that are not numbers appear under `summary`."""
        found = trainer.read_json(_file(run, CONFIG))
        summary = trainer.read_json(_file(run, SUMMARY))
        config = found if isinstance(found, dict) else {}
        if isinstance(summary, dict):
            config |= {"summary": {key: _parsed(value) for key, value in summary.items()}}
        return config

    def files(self, run: RunInfo) -> list[RunFile]:
        """See `Format`."""
        if not is_folder(run.root):
            return trainer.described_files([(run.root, Path(run.root).name, "samples")])
        found = [(archive.path, archive.name, "samples") for archive in archives_of(run)]
        found += [(one.path, name, what) for name, what in _WHAT.items() if (one := _file(run, name))]
        return trainer.described_files(found)

    def logtrees(self, run: RunInfo) -> list[tuple[str, int]]:  # noqa: ARG002
        """See `Format`."""
        return []

    def logtree(self, run: RunInfo, split: str, step: int) -> LogNode | None:  # noqa: ARG002
        """See `Format`."""
        return None

    def conversations(self, run: RunInfo, split: str, step: int) -> list[LoggedTranscript]:  # noqa: ARG002
        """See `Format`."""
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
    """The value of a text that holds JSON; any other value unchanged."""
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
    """The place of one of the files beside the archives, None without a readable one."""
    return _below(Path(run.root), name, links_of(run)) if is_folder(run.root) else None


def _below(folder: Path, name: str, links: str) -> Location | None:
    path = folder / name
    return file_of(str(path.parent), path.name, links)
