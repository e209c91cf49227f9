"""Traces that verl leaves in MLflow's SQLite: each run of an agent loop is a sample.

Source: the tables of MLflow 3.17 (experiments, runs, params, metrics, trace_info, trace_tags, spans), and verl's
`rollout_trace_attr`, whose tags hold step, sample_index, rollout_n, validate and experiment_name as texts.
"""

import contextlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import apsw

from rolloupe.formats.reading import fields
from rolloupe.formats.reading.documents.database_rows import TOO_LARGE, size_of, stored_columns, table_rows
from rolloupe.formats.reading.files import alone, entries, is_one_file
from rolloupe.formats.reading.trackers.beginnings import states_of
from rolloupe.formats.reading.trackers.curves import metric_rows, parsed
from rolloupe.formats.reading.trackers.mlflow import logged_row
from rolloupe.formats.reading.trackers.sqlite import ENDINGS, BadDatabase, read_database
from rolloupe.formats.reading.trainer_files import described_files
from rolloupe.formats.trackers.database_format import DatabaseFormat, RowsOfTable, width_for
from rolloupe.formats.trackers.logged_samples import Placed, with_numbers
from rolloupe.formats.trackers.mlflow_runs import SPANS, TracedRun, of_run, traced_runs
from rolloupe.formats.trackers.verl_calls import is_call, sample_of_call
from rolloupe.model import Location, MetricRow, RunFile, RunInfo, RunPart

MOST_METRICS = 5_000_000

INPUTS, OUTPUTS = "mlflow.spanInputs", "mlflow.spanOutputs"


class MLflow(DatabaseFormat):
    """Traces in MLflow."""

    name = "mlflow"
    title = "MLflow"
    suffixes = ENDINGS
    endings = ENDINGS
    sizes: ClassVar = {SPANS: size_of(("content",))}
    recognises = (
        "SQLite of MLflow, alone or in a folder, with spans whose names end in `.run`, as verl's agent loops do."
    )
    layout = (
        "`mlruns.db`, for verl `/tmp/mlruns.db` unless `MLFLOW_TRACKING_URI` names another, with its `-wal`. Each "
        "`experiment_name` among the tags of an experiment's traces is a run, and so are the traces without one. "
        "[frameworks/trackers.md](frameworks/trackers.md) has the switches."
    )
    identity = (
        "step = the tag `step`; group = `uid` among the inputs, else `sample_index` and a hash of the prompt; index = "
        "`rollout_n`. Split `train`, or `eval/validation` by the tag `validate`."
    )
    reads = (
        ("`mlflow.spanInputs`, `mlflow.spanOutputs`", "turns, token ids, logprobs, the loss mask, the reward if any"),
        ("`status`", "status"),
        ("`metrics`, `params` of the run of that name", "metrics, configuration"),
    )
    limits = (
        "verl computes rewards after the trace. Spans that MLflow keeps as artifacts, as before 3.5, and validations, "
        "which verl logs as artifacts, are not read."
    )

    def detect(self, path: Path, *, forced: bool = False, link_root: str = "") -> list[RunInfo]:  # noqa: ARG002
        """See `Format`."""
        links = link_root or str(path.resolve())
        if is_one_file(path):
            return self._runs(Location(str(path), link_root or str(path)), link_root)
        with contextlib.suppress(OSError):
            places = [one for one in entries(str(path), links) if one.name.endswith(ENDINGS)]
            files = [one.location for one in places if not (one.is_folder or one.refused)]
            return [run for one in files for run in self._runs(one, links)]
        return []

    def _runs(self, location: Location, links: str) -> list[RunInfo]:
        return [
            RunInfo(
                name=one.name or one.experiment_name, root=location.path, format=self.name, within=one.id,
                reason="a run in MLflow's database with traces of verl", parts=(RunPart(location.path),),
                link_root=links,
            )
            for one in _traced(location)
        ]  # fmt: skip

    def tables(self, run: RunInfo) -> Sequence[tuple[RowsOfTable, int, int]]:
        """See `DatabaseFormat`."""
        location = _location(run)
        found = [one for one in _current(location, *states_of(location)) if one.id == run.within]
        return [
            (
                RowsOfTable(SPANS, (str(one.experiment), one.name), one.first, width_for(one.size_bytes)),
                one.last,
                one.changed_ns,
            )
            for one in found
        ]

    def samples(self, database: apsw.Connection, rows: RowsOfTable, first: int, stop: int) -> Iterator[Placed]:
        """See `DatabaseFormat`."""
        experiment, name = rows.ids
        wanted = f"FROM spans WHERE rowid >= ? AND rowid < ? AND {of_run(name)} ORDER BY rowid"
        columns = ("rowid", "trace_id", "name", "status", "content")
        for row in table_rows(database, columns, wanted, (first, stop, int(experiment), name)):
            if TOO_LARGE in row:
                number = row["rowid"]
                yield Placed(rows.place_of(number), rows.width, "", str(number), row[TOO_LARGE])
                continue
            yield from _placed(rows, row, _tags(database, row["trace_id"]))

    def config(self, run: RunInfo) -> dict[str, Any]:
        """See `Format`."""
        wanted = "FROM params JOIN runs USING (run_uuid) WHERE experiment_id = ? AND name = ? ORDER BY start_time"
        found = self._of_run(run, "params", ("params.key", "params.value"), wanted)
        return {str(row["key"]): row["value"] for row in found}

    def metrics(self, run: RunInfo) -> list[MetricRow]:
        """See `Format`."""
        wanted = (
            "FROM metrics JOIN runs USING (run_uuid) WHERE experiment_id = ? AND name = ? "
            f"ORDER BY timestamp LIMIT {MOST_METRICS}"
        )
        columns = ("metrics.key", "metrics.value", "metrics.step", "metrics.timestamp", "metrics.is_nan")
        return metric_rows([logged_row(row) for row in self._of_run(run, "metrics", columns, wanted)])

    def _of_run(self, run: RunInfo, table: str, columns: Sequence[str], wanted: str) -> list[dict[str, Any]]:
        """Rows of a table about the run of MLflow that has the name of the traces; none of another's, or of a view."""
        experiment, _, name = run.within.partition("/")

        def rows(database: apsw.Connection) -> list[dict[str, Any]]:
            is_stored = stored_columns(database, table) and stored_columns(database, "runs")
            return [*table_rows(database, columns, wanted, (int(experiment), name))] if is_stored else []

        try:
            return read_database(_location(run), rows)
        except (BadDatabase, OSError):
            return []

    def files(self, run: RunInfo) -> list[RunFile]:
        """See `Format`."""
        name = Path(run.root).name
        return described_files((f"{run.root}{end}", f"{name}{end}", "MLflow") for end in ("", "-wal"))


def _location(run: RunInfo) -> Location:
    return Location(run.root, run.link_root) if run.link_root else alone(run.root)


def _traced(location: Location) -> tuple[TracedRun, ...]:
    try:
        return _current(location, *states_of(location))
    except (BadDatabase, OSError):
        return ()


@lru_cache(maxsize=128)
def _current(location: Location, *_states: int) -> tuple[TracedRun, ...]:
    return tuple(traced_runs(location))


def _tags(database: apsw.Connection, trace: str) -> dict[str, Any]:
    found = table_rows(database, ("key", "value"), "FROM trace_tags WHERE request_id = ?", (trace,))
    return {str(one["key"]): one["value"] for one in found}


def _placed(rows: RowsOfTable, row: dict[str, Any], tags: dict[str, Any]) -> Iterator[Placed]:
    content = parsed(row["content"] or "")
    attributes = content.get("attributes") if isinstance(content, dict) else None
    known = attributes if isinstance(attributes, dict) else {}
    inputs, output = (_value(known.get(name)) for name in (INPUTS, OUTPUTS))
    numbers = {name: fields.integer(tags[name]) for name in ("sample_index", "rollout_n", "step") if name in tags}
    about = numbers | {"op": row["name"], "inputs": inputs, "output": output, "validate": tags.get("validate")}
    about["status"] = "error" if row["status"] == "ERROR" else "success"
    sample = sample_of_call(about, 0) if is_call(about) else "a call without a sample_index is no sample"
    if sample is not None:
        number = row["rowid"]
        yield Placed(rows.place_of(number), rows.width, "", str(number), sample, {"tags": tags, "span": content})


def _value(text: Any) -> Any:
    """What an attribute holds, which is a text of JSON."""
    value = parsed(text) if isinstance(text, str) else text
    return with_numbers(value) if isinstance(value, dict) else value
