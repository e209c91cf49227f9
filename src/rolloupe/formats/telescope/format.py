"""Telescope: zip archives of Parquet tables that its trainer uploads, as a local copy of the run's files.

Source: Telescope 0.1.2, `orchestrator/loggers/event_logger.py` and `wandb_logger.py` (schema 0.3.0), and archives that
they wrote. One table has a row for each sample; other tables hold turns, tool calls, metrics, tags and golden answers.
"""

import hashlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from rolloupe import model
from rolloupe.errors import SourceChanged, defect
from rolloupe.formats.base import Format
from rolloupe.formats.reading import trainer_files as trainer
from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.formats.reading.documents import unpacked
from rolloupe.formats.reading.files import alone, file_of, is_one_file, links_of
from rolloupe.formats.reading.records import Unusable
from rolloupe.formats.reading.tables.zip_archives import Unreadable, integers, taken
from rolloupe.formats.telescope import archives, samples
from rolloupe.storage import is_folder

CHUNK_ROWS = 4096
"""The number of samples whose rows are looked up at a time."""

CONFIG, HISTORY = "config.json", "history.jsonl"
MAX_METRIC_ROWS = 5_000_000
_WHAT = {
    CONFIG: "configuration",
    archives.SUMMARY: "summary of the run",
    HISTORY: "metrics",
    "run.json": "the run in W&B",
    "code/source.zip": "code",
    "code/metadata.json": "what code was kept",
}
Range = tuple[str, float, float]


class Telescope(Format):
    """The archives of a Telescope run."""

    name = "telescope"
    title = "Telescope"
    endings = (".zip",)

    def detect(self, path: Path, *, forced: bool = False, link_root: str = "") -> list[model.RunInfo]:
        links = link_root or str(path.resolve())
        if is_one_file(path):
            fits = path.suffix == ".zip" and (forced or _fits(alone(path)))
            return [self._run(path, "one archive", "")] if fits else []
        listed_by_folder = {folder: archives.zips(str(path / folder), links, folder) for folder in archives.FOLDERS}
        zipped = [entry.location for listed in listed_by_folder.values() for entry in listed]
        if not zipped or not (forced or any(map(_fits, zipped[:4]))):
            return []
        places = ", ".join(f"{len(listed)} in {folder}/" for folder, listed in listed_by_folder.items() if listed)
        return [self._run(path, f"archives of Telescope: {places}", links)]

    def _run(self, path: Path, reason: str, links: str) -> model.RunInfo:
        named = path if path.name != "files" else path.parent
        rewards, metrics = _ranges_of(path if is_folder(path) else path.parent.parent, links)
        whole = (min(low for _, low, _ in rewards), max(high for _, _, high in rewards)) if rewards else None
        run = self._run_at(path, reason, links, named.name.removesuffix(".zip"))
        return replace(run, reward_range=whole, env_reward_ranges=tuple(rewards), metric_ranges=tuple(metrics))

    def sources(self, run: model.RunInfo) -> list[model.Source]:
        """`Source.depends` identifies the samples that an archive leaves to earlier ones."""
        whole = archives.merged(run)
        sources = []
        for archive in whole.archives:
            ids = whole.earlier_ids[archive.name]
            word = hashlib.blake2b(ids.tobytes(), digest_size=8).hexdigest() if len(ids) else ""
            path, root = archive.location
            sources.append(model.Source(path=path, name=archive.name, root=root, depends=word))
        return sources

    def step_states(self, run: model.RunInfo) -> dict[tuple[str, int], str]:
        """The last step may have been generated in part, and never trained."""
        return {("train", step): "incomplete" for step in archives.merged(run).untrained}

    def scan(self, run: model.RunInfo, source: model.Source, start: int, stop: int) -> Iterator[model.Scanned]:
        """An archive is scanned whole; appended data holds no samples."""
        if start or stop <= start:
            return
        try:
            tables = archives.tables_of(source.location)
        except Unreadable as error:
            yield model.Problem(source=source.name, reason=str(error), start=0, transient=True)
            return
        earlier_ids = archives.merged(run).earlier_ids.get(source.name, np.empty(0, dtype=np.int64))
        for kind in archives.kinds_in(tables):
            kind_tables = tables.derived(kind.samples, partial(archives.KindTables, tables, kind))
            try:
                archives.check_unchanged(tables)
            except Unreadable as error:
                yield model.Problem(source=source.name, reason=str(error), start=0, transient=True)
                return
            yield from _rows(run, source, kind_tables, earlier_ids)
        for name, reason in tables.trouble.items():
            yield model.Problem(source=source.name, reason=f"{name}: {reason}")
        if strange := [name for name in tables.names() if "/" in name or "\\" in name or ".." in name]:
            shown = ", ".join(name[:80] for name in strange[:3])
            yield model.Problem(source=source.name, reason=f"members with paths for names, left unread: {shown}")

    def load(self, run: model.RunInfo, source: model.Source, locator: model.Locator) -> model.Sample:
        kind_tables = _kind_tables(source, locator)
        (facts,) = kind_tables.facts(np.array([locator.start]), raw=True)
        try:
            archives.check_unchanged(kind_tables.tables)
            return samples.sampled(run, source, kind_tables, locator.start, facts).sample(locator)
        except (Unreadable, Unusable) as error:
            raise _changed(source, locator.start, str(error)) from None

    def raw(self, source: model.Source, locator: model.Locator) -> bytes:
        """Return the rows about a sample as JSON: in the archive they are packed into many tables."""
        (facts,) = _kind_tables(source, locator).facts(np.array([locator.start]), raw=True)
        return samples.as_json(facts, samples.UnpackedTexts())

    def metrics(self, run: model.RunInfo) -> list[model.MetricRow]:
        """Return the metrics of the archives, and metrics that only W&B's history has."""
        rows = [{**row, "step": row.get("_step")} for row in trainer.records(_file(run, HISTORY))]
        for archive in archives.archives_of(run):
            try:
                table = archives.tables_of(archive.location).table("metrics")
            except Unreadable:
                continue
            if table is not None:
                for row in taken(table, np.arange(min(table.num_rows, MAX_METRIC_ROWS))):
                    parts = (row.get("section"), row.get("group"), row.get("metric"))
                    name = "/".join(part for part in parts if isinstance(part, str) and part)
                    rows.append({"step": row.get("step"), name or "metric": row.get("value")})
        return trainer.merged_metrics(rows)

    def trainer_files(self, run: model.RunInfo) -> list[model.Source]:
        return trainer.json_sources(run.root, [_file(run, name) for name in (HISTORY, CONFIG, archives.SUMMARY)])

    def config(self, run: model.RunInfo) -> dict[str, Any]:
        """Members of W&B's summary that are not numbers appear under `summary`."""
        config = parsers.as_dict(trainer.read_json(_file(run, CONFIG)))
        summary = trainer.read_json(_file(run, archives.SUMMARY))
        if isinstance(summary, dict):
            config |= {"summary": {key: parsers.showable(unpacked(value)) for key, value in summary.items()}}
        return config

    def files(self, run: model.RunInfo) -> list[model.RunFile]:
        if not is_folder(run.root):
            return trainer.described_files([(run.root, Path(run.root).name, "samples")])
        listed = [(archive.location.path, archive.name, "samples") for archive in archives.archives_of(run)]
        listed += [(place.path, name, what) for name, what in _WHAT.items() if (place := _file(run, name))]
        return trainer.described_files(listed)


def _fits(location: model.Location) -> bool:
    try:
        tables = archives.tables_of(location)
    except Unreadable:
        return False
    return bool(archives.kinds_in(tables)) and any(tables.has(kind.table("prompts")) for kind in archives.KINDS)


def _rows(
    run: model.RunInfo, source: model.Source, kind_tables: archives.KindTables, earlier_ids: np.ndarray
) -> Iterator[model.Scanned]:
    """Yield the rows of a kind that an archive contributes, in the order of its table."""
    if kind_tables.samples is None:
        return
    row_marks = archives.marks(kind_tables.ids, integers(kind_tables.samples, "group_id", 0))
    is_first = (kind_tables.ids == archives.UNDISPATCHED) | (kind_tables.ids == archives.MISSING)
    is_first[np.unique(row_marks, return_index=True)[1]] = True
    is_own = ~np.isin(row_marks, earlier_ids)
    table = kind_tables.kind.samples
    if repeated := int((is_own & ~is_first).sum()):
        yield model.Problem(
            source=source.name, reason=f"{table}: {repeated:,} rows have the id of an earlier one: left out"
        )
    row_numbers, start = np.flatnonzero(is_first & is_own), 0
    while start < len(row_numbers):
        numbers = row_numbers[start : start + CHUNK_ROWS]
        numbers = numbers[: int(np.searchsorted(np.cumsum(kind_tables.weights(numbers)), CHUNK_ROWS)) + 1]
        start += len(numbers)
        for number, facts in zip(numbers.tolist(), kind_tables.facts(numbers), strict=True):
            try:
                yield samples.sampled(run, source, kind_tables, number, facts).row
            except Exception as error:  # a defect of this code must not cost the rows after it
                reason = str(error) if isinstance(error, Unusable) else defect(error)
                yield model.Problem(source=source.name, reason=f"{table}, row {number}: {reason}")


def _kind_tables(source: model.Source, locator: model.Locator) -> archives.KindTables:
    """Return the tables that a locator refers to. Raises `SourceChanged`."""
    kind = next((kind for kind in archives.KINDS if kind.samples == locator.part), None)
    try:
        tables = archives.tables_of(source.location)
    except Unreadable as error:
        raise _changed(source, locator.start, str(error)) from None
    kind_tables = tables.derived(locator.part, partial(archives.KindTables, tables, kind)) if kind else None
    if kind_tables is None or not 0 <= locator.start < len(kind_tables.ids):
        raise _changed(source, locator.start, f"{locator.part} has no such row")
    return kind_tables


def _changed(source: model.Source, start: int, reason: str) -> SourceChanged:
    return SourceChanged(f"{source.path} no longer holds a sample at row {start}: {reason}. Next: reload the step")


def _ranges_of(folder: Path, links: str) -> tuple[list[Range], list[Range]]:
    """Read the ranges that a run declares: of rewards by environment, and of sample metrics."""
    config, summary = (
        trainer.read_json(_below(folder, name, links or str(folder))) for name in (CONFIG, archives.SUMMARY)
    )
    rewards = []
    for environment in _listed(config, "environments"):
        ends = _ends(environment, "reward_min", "reward_max")
        if (name := parsers.name(environment.get("name"))) and ends:
            rewards.append((name, *ends))
    metrics: dict[str, Range] = {}
    for environment in (*_listed(summary, "env_details"), *_listed(summary, "eval_env_details")):
        for name, bounds in parsers.as_dict(environment.get("metrics_ranges")).items():
            if ends := _ends(parsers.as_dict(bounds), "min", "max"):
                metrics.setdefault(name, (name, *(ends[::-1] if bounds.get("invert") is True else ends)))
    return rewards, [*metrics.values()]


def _ends(bounds: dict[str, Any], *names: str) -> tuple[float, float] | None:
    low, high = (parsers.number(bounds.get(name)) for name in names)
    return (low, high) if low is not None and high is not None and low < high else None


def _listed(document: Any, key: str) -> list[dict[str, Any]]:
    return parsers.dicts(unpacked(document.get(key))) if isinstance(document, dict) else []


def _file(run: model.RunInfo, name: str) -> model.Location | None:
    return _below(Path(run.root), name, links_of(run)) if is_folder(run.root) else None


def _below(folder: Path, name: str, links: str) -> model.Location | None:
    path = folder / name
    return file_of(str(path.parent), path.name, links)
