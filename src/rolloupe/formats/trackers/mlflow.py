"""Traces in MLflow's SQLite: each is a sample; in verl's traces, each run of an agent loop is one.

Source: the tables of MLflow 3.17 (experiments, runs, params, metrics, trace_info, trace_tags, trace_request_metadata,
assessments, spans), and verl's `rollout_trace_attr`, whose tags hold step, sample_index, rollout_n, validate and
experiment_name as texts.
"""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import apsw
from msgspec.structs import replace

from rolloupe.formats.generic.keys import roles_of
from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.formats.reading.files import links_of, while_unchanged
from rolloupe.formats.reading.records import Record
from rolloupe.formats.reading.trackers import curves, sqlite
from rolloupe.formats.reading.trainer_files import described_files
from rolloupe.formats.trackers import samples
from rolloupe.formats.trackers.database_format import FIRST_ROWS, DatabaseFormat, RowsOfTable, TableExtent, width_for
from rolloupe.lru import Lru
from rolloupe.model import Location, MetricRow, RunFile, RunInfo
from rolloupe.storage import path_state

MOST_METRICS = 5_000_000
OF_RUN = "experiment_id = ? AND ? IN (name, run_uuid)"
INPUTS, OUTPUTS = "mlflow.spanInputs", "mlflow.spanOutputs"
SPANS = "spans"
NEEDED = {
    SPANS: {"trace_id", "experiment_id", "parent_span_id", "name", "status", "content"},
    "trace_tags": {"request_id", "key", "value"},
    "trace_info": {"request_id", "experiment_id"},
    "experiments": {"experiment_id", "name"},
}
NEW_ROWS = 10_000
"""The newest spans, which may still get tags, are counted again each time."""
ROWS_AT_ONCE = 100_000
"""Spans to count at a time: the count so far is kept if the rest takes too long."""
OF_VERL = "SELECT 1 FROM trace_tags WHERE request_id = trace_id AND key IN ('rollout_n', 'validate')"
IS_SAMPLE = f"(name LIKE '%.run' OR parent_span_id IS NULL AND NOT EXISTS ({OF_VERL}))"
NAMED = "SELECT value FROM trace_tags WHERE request_id = trace_id AND key = 'experiment_name'"
WITHIN = "SELECT value FROM trace_request_metadata WHERE request_id = trace_id AND key = 'mlflow.sourceRun'"
"""The run of MLflow in which a trace was logged."""
ENDS = f"""
FROM (
  SELECT experiment_id, {{run}} AS run, min(rowid) AS first, max(rowid) AS last, max(end_time_unix_nano) AS changed_ns
  FROM spans WHERE rowid >= ? AND rowid < ? AND {IS_SAMPLE} GROUP BY experiment_id, run
) LIMIT {sqlite.MOST_RUNS}"""


class TracedRun(NamedTuple):
    """The traces of an experiment with one run name, from one run of MLflow, or without either."""

    experiment: int
    title: str
    name: str
    """The name from verl, else the id of the run of MLflow; empty without either."""
    first: int
    last: int
    size_bytes: float
    changed_ns: int

    @property
    def has_traces(self) -> bool:
        """False for a run that has only metrics, among others with traces."""
        return self.first <= self.last

    @property
    def id(self) -> str:
        return f"{self.experiment}/{self.name}"


class MLflow(DatabaseFormat):
    """Traces in MLflow."""

    name = "mlflow"
    title = "MLflow"
    suffixes = sqlite.ENDINGS
    endings = sqlite.ENDINGS
    sizes: ClassVar = {SPANS: sqlite.size_of(("content",))}

    def runs_in(self, location: Location, links: str) -> list[RunInfo]:
        path, runs = Path(location.path), []
        with contextlib.suppress(sqlite.BadDatabase, OSError):
            for run in traced_runs(location):
                reason = f"a run in MLflow's database {'with' if run.has_traces else 'without'} traces"
                runs.append(replace(self._run_at(path, reason, links, run.title), within=run.id))
        return runs

    def tables(self, run: RunInfo) -> list[TableExtent]:
        tables = []
        for traced in traced_runs(Location(run.root, links_of(run))):
            if traced.id == run.within and traced.has_traces:
                ids, width = (str(traced.experiment), traced.name), width_for(traced.size_bytes)
                rows = RowsOfTable(SPANS, ids, traced.first, width)
                tables.append(TableExtent(rows, traced.last, traced.changed_ns))
        return tables

    def samples(self, database: apsw.Connection, rows: RowsOfTable, first: int, stop: int) -> Iterator[samples.Placed]:
        experiment, name = rows.ids
        wanted = f"FROM spans WHERE rowid >= ? AND rowid < ? AND {of_run(database)} ORDER BY rowid"
        has_feedback = sqlite.stored_columns(database, "assessments") >= {"trace_id", "name", "value", "valid"}
        columns = ("rowid", "trace_id", "name", "status", "content")
        for row in sqlite.table_rows(database, columns, wanted, (first, stop, int(experiment), name)):
            if sqlite.TOO_LARGE in row:
                yield rows.placed(row["rowid"], row[sqlite.TOO_LARGE])
                continue
            of_trace = (row["trace_id"],)
            tag_rows = sqlite.table_rows(database, ("key", "value"), "FROM trace_tags WHERE request_id = ?", of_trace)
            tags = {str(tag["key"]): tag["value"] for tag in tag_rows}
            feedback = {}  # assessments by people, judges and code
            if has_feedback:
                valid = "FROM assessments WHERE trace_id = ? AND ifnull(valid, 1) ORDER BY created_timestamp"
                assessments = sqlite.table_rows(database, ("name", "value"), valid, of_trace)
                feedback = {str(assessed["name"]): curves.parsed(assessed["value"] or "") for assessed in assessments}
            yield from _placed(rows, row, tags, feedback)

    def config(self, run: RunInfo) -> dict[str, Any]:
        wanted = f"FROM params JOIN runs USING (run_uuid) WHERE {OF_RUN} ORDER BY start_time"
        rows = self._of_run(run, "params", ("params.key", "params.value"), wanted)
        return {str(row["key"]): row["value"] for row in rows}

    def metrics(self, run: RunInfo) -> list[MetricRow]:
        wanted = f"FROM metrics JOIN runs USING (run_uuid) WHERE {OF_RUN} ORDER BY timestamp LIMIT {MOST_METRICS}"
        columns = ("metrics.key", "metrics.value", "metrics.step", "metrics.timestamp", "metrics.is_nan")
        return curves.metric_rows([sqlite.logged_row(row) for row in self._of_run(run, "metrics", columns, wanted)])

    def _of_run(self, run: RunInfo, table: str, columns: Sequence[str], wanted: str) -> list[dict[str, Any]]:
        """Return the rows of a table about the MLflow run of the traces; none if the table is a view."""
        experiment, _, name = run.within.partition("/")

        def rows(database: apsw.Connection) -> list[dict[str, Any]]:
            is_stored = sqlite.stored_columns(database, table) and sqlite.stored_columns(database, "runs")
            return [*sqlite.table_rows(database, columns, wanted, (int(experiment), name))] if is_stored else []

        try:
            return sqlite.read_database(Location(run.root, links_of(run)), rows)
        except (sqlite.BadDatabase, OSError):
            return []

    def files(self, run: RunInfo) -> list[RunFile]:
        name = Path(run.root).name
        return described_files((f"{run.root}{end}", f"{name}{end}", "MLflow") for end in ("", "-wal"))


def _placed(
    rows: RowsOfTable, row: dict[str, Any], tags: dict[str, Any], feedback: dict[str, Any]
) -> Iterator[samples.Placed]:
    content = curves.parsed(row["content"] or "")
    known = parsers.as_dict(parsers.as_dict(content).get("attributes"))
    stored = (known.get(INPUTS), known.get(OUTPUTS))
    inputs, output = (curves.parsed(value) if isinstance(value, str) else value for value in stored)
    inputs, output = (samples.with_numbers(value) if isinstance(value, dict) else value for value in (inputs, output))
    numbers = {name: parsers.integer(tags[name]) for name in ("sample_index", "rollout_n", "step") if name in tags}
    about = numbers | {"op": row["name"], "inputs": inputs, "output": output, "validate": tags.get("validate")}
    about["status"] = "error" if row["status"] == "ERROR" else "success"
    sample: samples.LoggedSample | str | None
    if samples.is_call(about):
        sample = samples.sample_of_call(about, 0)
    elif "experiment_name" in tags:
        sample = "a call without a sample_index is not a sample"
    else:
        sample = _sample_of_trace(inputs, output, tags | {"status": about["status"]}, feedback)
    if sample is not None:
        record = {"tags": tags, "span": content} | ({"assessments": feedback} if feedback else {})
        yield rows.placed(row["rowid"], sample, record=record)


def _sample_of_trace(inputs: Any, output: Any, tags: Record, feedback: Record) -> samples.LoggedSample:
    """Return the sample of a trace from a person's own code."""
    asked = inputs if isinstance(inputs, dict) else {"prompt": inputs}
    given = output if isinstance(output, dict) else {"response": output}
    choices = parsers.as_list(given.get("choices"))
    if isinstance(message := parsers.as_dict(choices[0]).get("message") if choices else None, dict):
        given = {"response": [message]}  # a completion in OpenAI's form
    own = {name: value for name, value in tags.items() if not name.startswith("mlflow.")}
    record = own | asked | given | feedback
    roles = roles_of(record)
    prompt, response = roles.texts(record)
    numbers = [name for name, value in feedback.items() if parsers.number(value) is not None]
    score = roles.score or (numbers[0] if len(numbers) == 1 else None)
    taken = {roles.prompt, roles.response, roles.messages, roles.step, roles.group, score, "split"}
    others = {name: value for name, value in record.items() if name not in taken}
    others |= {
        "prompt": _only_text(inputs) if prompt is None else prompt,
        "response": _only_text(output) if response is None else response,
        "reward": record[score] if score else None,
        "step": parsers.integer(record[roles.step]) if roles.step else None,
    }
    group = samples.name_of(record[roles.group]) if roles.group else None
    split = samples.split_named(record["split"]) if isinstance(record.get("split"), str) else ""
    return samples.LoggedSample(others | ({"group": group} if group else {}), split)


def _only_text(value: Any) -> Any:
    """The only text in an object, else all of it."""
    texts = [member for member in value.values() if isinstance(member, str)] if isinstance(value, dict) else []
    return texts[0] if len(texts) == 1 else parsers.as_text(value) if value is not None else ""


_Runs = dict[tuple[int, str], tuple[int, int, int]]
"""For each run, by experiment and name: its first and last span that is a sample, and when the last one ended."""


class _Counted(NamedTuple):
    """The runs of the spans before a row, and the trace of the last of these spans."""

    stop: int = 0
    trace: object = None
    runs: _Runs = {}  # noqa: RUF012 - each count makes one of its own


_counts: Lru[tuple[Location, int], _Counted] = Lru(entries=128)
"""The counts of the spans of databases, by path and inode."""


def of_run(database: apsw.Connection) -> str:
    """Return the condition for the spans of a run that are samples, with its experiment and its name as parameters."""
    return f"+experiment_id = ? AND {IS_SAMPLE} AND {_run_of_trace(database)} = ?"


def _run_of_trace(database: apsw.Connection) -> str:
    is_stored = {"request_id", "key", "value"} <= sqlite.stored_columns(database, "trace_request_metadata")
    return f"coalesce(({NAMED}), {f'({WITHIN}), ' if is_stored else ''}'')"


@while_unchanged(128, sqlite.states_of)
def traced_runs(location: Location) -> tuple[TracedRun, ...]:
    """List the runs in a database. Raises `BadDatabase` and OSError."""
    if not sqlite.is_database(location):
        return ()
    key = location, path_state(location.path).st_ino
    return tuple(sqlite.read_database(location, lambda database: [*_listed(database, key)], sqlite.LISTING_S))


def _listed(database: apsw.Connection, key: tuple[Location, int]) -> Iterator[TracedRun]:
    if any(not needed <= sqlite.stored_columns(database, table) for table, needed in NEEDED.items()):
        return
    experiments = sqlite.table_rows(database, ("experiment_id", "name"), "FROM experiments")
    names = {row["experiment_id"]: row["name"] for row in experiments}
    titles: dict[object, str] = {}
    if {"run_uuid", "name"} <= sqlite.stored_columns(database, "runs"):
        titled = sqlite.table_rows(database, ("run_uuid", "name"), f"FROM runs LIMIT {sqlite.MOST_RUNS}")
        titles = {row["run_uuid"]: row["name"] or "" for row in titled}
    runs = _runs(database, key)
    average = f"SELECT avg(octet_length(content)) FROM spans WHERE rowid >= ? AND rowid < ? AND {of_run(database)}"
    for (experiment, name), (first, last, changed_ns) in sorted(runs.items()):
        if experiment in names:
            ((size_bytes,),) = database.execute(average, (first, first + FIRST_ROWS, experiment, name))
            title = titles.get(name, name) or names[experiment]
            yield TracedRun(experiment, title, name, first, last, size_bytes or 0, changed_ns)
    taken = {name for _, name in runs}
    nameless = {experiment for experiment, name in runs if not name}  # their metrics may belong to any run
    for row in (sqlite.runs_with_metrics(database) or ()) if runs else ():
        if taken.isdisjoint((row["run_uuid"], row["name"])) and row["experiment_id"] not in nameless:
            yield TracedRun(row["experiment_id"], row["name"] or row["run_uuid"], row["run_uuid"], 0, -1, 0, 0)


def _runs(database: apsw.Connection, key: tuple[Location, int]) -> _Runs:
    ((last,),) = database.execute("SELECT ifnull(max(rowid), 0) FROM spans")
    counted = _counts.get(key) or _Counted()
    if counted.stop > last or counted.trace != _trace(database, counted.stop - 1):
        counted = _Counted()
    while counted.stop < last - NEW_ROWS:
        stop = min(counted.stop + ROWS_AT_ONCE, last - NEW_ROWS)
        runs = _joined(counted.runs, span_ends(database, counted.stop, stop))
        counted = _Counted(stop, _trace(database, stop - 1), runs)
        _counts.put(key, counted)
    return _joined(counted.runs, span_ends(database, counted.stop, last + 1))


def _trace(database: apsw.Connection, number: int) -> object:
    return database.execute("SELECT CAST(trace_id AS BLOB) FROM spans WHERE rowid = ?", (number,)).fetchone()


def span_ends(database: apsw.Connection, first: int, stop: int) -> _Runs:
    """Return the first and the last span of each run among some spans."""
    names = ("experiment_id", "run", "first", "last", "changed_ns")
    rows = sqlite.table_rows(database, names, ENDS.format(run=_run_of_trace(database)), (first, stop))
    return {
        (row["experiment_id"], row["run"]): (row["first"], row["last"], parsers.integer(row["changed_ns"]) or 0)
        for row in rows
    }


def _joined(runs: _Runs, later: _Runs) -> _Runs:
    joined = dict(runs)
    for key, ends in later.items():
        first, _, changed_ns = runs.get(key, ends)
        joined[key] = first, ends[1], max(changed_ns, ends[2])
    return joined
