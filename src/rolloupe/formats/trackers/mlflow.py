"""Traces in MLflow's SQLite: each is a sample, and of verl each run of an agent loop.

Source: the tables of MLflow 3.17 (experiments, runs, params, metrics, trace_info, trace_tags, trace_request_metadata,
assessments, spans), and verl's `rollout_trace_attr`, whose tags hold step, sample_index, rollout_n, validate and
experiment_name as texts.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import apsw

from rolloupe.formats.generic.keys import roles_of
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.files import links_of
from rolloupe.formats.reading.records import Record
from rolloupe.formats.reading.trackers.curves import metric_rows, parsed
from rolloupe.formats.reading.trackers.databases import logged_row
from rolloupe.formats.reading.trackers.sqlite import (
    ENDINGS,
    TOO_LARGE,
    BadDatabase,
    read_database,
    size_of,
    states_of,
    stored_columns,
    table_rows,
)
from rolloupe.formats.reading.trainer_files import described_files
from rolloupe.formats.trackers.database_format import DatabaseFormat, RowsOfTable, width_for
from rolloupe.formats.trackers.logged_samples import LoggedSample, Placed, name_of, split_named, with_numbers
from rolloupe.formats.trackers.mlflow_runs import SPANS, TracedRun, of_run, traced_runs
from rolloupe.formats.trackers.verl_calls import is_call, sample_of_call
from rolloupe.model import Location, MetricRow, RunFile, RunInfo, RunPart

MOST_METRICS = 5_000_000

OF_RUN = "experiment_id = ? AND ? IN (name, run_uuid)"
INPUTS, OUTPUTS = "mlflow.spanInputs", "mlflow.spanOutputs"


class MLflow(DatabaseFormat):
    """Traces in MLflow."""

    name = "mlflow"
    title = "MLflow"
    suffixes = ENDINGS
    endings = ENDINGS
    sizes: ClassVar = {SPANS: size_of(("content",))}
    recognises = (
        "SQLite of MLflow, alone or in a folder, with traces. Runs with metrics alone are listed beside them; without "
        "any traces they are curves."
    )
    layout = (
        "`mlruns.db`, for verl `/tmp/mlruns.db` unless `MLFLOW_TRACKING_URI` names another, with its `-wal`. Each "
        "`experiment_name` among the tags of an experiment's traces is a run, else each run of MLflow in which traces "
        "were logged, and so are the traces without either. Of verl a sample is a span whose name ends in `.run`, of "
        "other traces the root. "
        "[frameworks/trackers.md](frameworks/trackers.md) has the switches."
    )
    identity = (
        "verl: step = the tag `step`; group = `uid` among the inputs, else `sample_index` and a hash of the prompt; "
        "index = `rollout_n`; split `train`, or `eval/validation` by the tag `validate`. Others: step, group and split "
        "under usual names among inputs, outputs and tags, else 0, a hash of the prompt, and `train`; index = the row."
    )
    reads = (
        ("`mlflow.spanInputs`, `mlflow.spanOutputs`", "turns, token ids, logprobs, the loss mask, the reward if any"),
        ("`status`", "status"),
        ("inputs, outputs and tags of other traces, under usual names", "turns, reward, ground truth, sample metrics"),
        ("assessments", "the reward under a usual name, or the only number; others are sample metrics and tags"),
        ("`metrics`, `params` of the run of that name", "metrics, configuration"),
    )
    limits = (
        "verl computes rewards after the trace. Feedback that comes after a trace was indexed shows in the sample, and "
        "in lists once the index is made again. Spans that MLflow keeps as artifacts, as before 3.5, and validations, "
        "which verl logs as artifacts, are not read."
    )

    def runs_in(self, location: Location, links: str) -> list[RunInfo]:
        """See `DatabaseFormat`."""
        return [
            RunInfo(
                name=one.title, root=location.path, format=self.name, within=one.id, reason=one.reason,
                parts=(RunPart(location.path),), link_root=links,
            )
            for one in _traced(location)
        ]  # fmt: skip

    def tables(self, run: RunInfo) -> Sequence[tuple[RowsOfTable, int, int]]:
        """See `DatabaseFormat`."""
        location = Location(run.root, links_of(run))
        found = [one for one in _current(location, *states_of(location)) if one.id == run.within and one.has_traces]
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
        wanted = f"FROM spans WHERE rowid >= ? AND rowid < ? AND {of_run(database)} ORDER BY rowid"
        has_feedback = stored_columns(database, "assessments") >= {"trace_id", "name", "value", "valid"}
        columns = ("rowid", "trace_id", "name", "status", "content")
        for row in table_rows(database, columns, wanted, (first, stop, int(experiment), name)):
            if TOO_LARGE in row:
                number = row["rowid"]
                yield Placed(rows.place_of(number), rows.width, "", str(number), row[TOO_LARGE])
                continue
            trace = row["trace_id"]
            yield from _placed(rows, row, _tags(database, trace), _feedback(database, trace) if has_feedback else {})

    def config(self, run: RunInfo) -> dict[str, Any]:
        """See `Format`."""
        wanted = f"FROM params JOIN runs USING (run_uuid) WHERE {OF_RUN} ORDER BY start_time"
        found = self._of_run(run, "params", ("params.key", "params.value"), wanted)
        return {str(row["key"]): row["value"] for row in found}

    def metrics(self, run: RunInfo) -> list[MetricRow]:
        """See `Format`."""
        wanted = f"FROM metrics JOIN runs USING (run_uuid) WHERE {OF_RUN} ORDER BY timestamp LIMIT {MOST_METRICS}"
        columns = ("metrics.key", "metrics.value", "metrics.step", "metrics.timestamp", "metrics.is_nan")
        return metric_rows([logged_row(row) for row in self._of_run(run, "metrics", columns, wanted)])

    def _of_run(self, run: RunInfo, table: str, columns: Sequence[str], wanted: str) -> list[dict[str, Any]]:
        """Rows of a table about the run of MLflow of the traces; none of another's, or of a view."""
        experiment, _, name = run.within.partition("/")

        def rows(database: apsw.Connection) -> list[dict[str, Any]]:
            is_stored = stored_columns(database, table) and stored_columns(database, "runs")
            return [*table_rows(database, columns, wanted, (int(experiment), name))] if is_stored else []

        try:
            return read_database(Location(run.root, links_of(run)), rows)
        except (BadDatabase, OSError):
            return []

    def files(self, run: RunInfo) -> list[RunFile]:
        """See `Format`."""
        name = Path(run.root).name
        return described_files((f"{run.root}{end}", f"{name}{end}", "MLflow") for end in ("", "-wal"))


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


def _feedback(database: apsw.Connection, trace: str) -> dict[str, Any]:
    """What people, judges and code said of a trace, by name."""
    wanted = "FROM assessments WHERE trace_id = ? AND ifnull(valid, 1) ORDER BY created_timestamp"
    found = table_rows(database, ("name", "value"), wanted, (trace,))
    return {str(one["name"]): parsed(one["value"] or "") for one in found}


def _placed(rows: RowsOfTable, row: dict[str, Any], tags: dict[str, Any], feedback: dict[str, Any]) -> Iterator[Placed]:
    content = parsed(row["content"] or "")
    attributes = content.get("attributes") if isinstance(content, dict) else None
    known = attributes if isinstance(attributes, dict) else {}
    inputs, output = (_value(known.get(name)) for name in (INPUTS, OUTPUTS))
    numbers = {name: fields.integer(tags[name]) for name in ("sample_index", "rollout_n", "step") if name in tags}
    about = numbers | {"op": row["name"], "inputs": inputs, "output": output, "validate": tags.get("validate")}
    about["status"] = "error" if row["status"] == "ERROR" else "success"
    sample: LoggedSample | str | None
    if is_call(about):
        sample = sample_of_call(about, 0)
    elif "experiment_name" in tags:
        sample = "a call without a sample_index is no sample"
    else:
        sample = _sample_of_trace(inputs, output, tags | {"status": about["status"]}, feedback)
    if sample is not None:
        number = row["rowid"]
        record = {"tags": tags, "span": content} | ({"assessments": feedback} if feedback else {})
        yield Placed(rows.place_of(number), rows.width, "", str(number), sample, record)


def _sample_of_trace(inputs: Any, output: Any, tags: Record, feedback: Record) -> LoggedSample:
    """The sample of a trace of somebody's own code: what it was given, what it returned, what others said of it."""
    asked = inputs if isinstance(inputs, dict) else {"prompt": inputs}
    given = _answer(output) if isinstance(output, dict) else {"response": output}
    own = {name: value for name, value in tags.items() if not name.startswith("mlflow.")}
    record = own | asked | given | feedback
    roles = roles_of(record)
    prompt, response = roles.texts(record)
    numbers = [name for name, value in feedback.items() if fields.number(value) is not None]
    score = roles.score or (numbers[0] if len(numbers) == 1 else None)
    taken = {roles.prompt, roles.response, roles.messages, roles.step, roles.group, score, "split"}
    others = {name: value for name, value in record.items() if name not in taken}
    others |= {
        "prompt": _only_text(inputs) if prompt is None else prompt,
        "response": _only_text(output) if response is None else response,
        "reward": record[score] if score else None,
        "step": fields.integer(record[roles.step]) if roles.step else None,
    }
    group = name_of(record[roles.group]) if roles.group else None
    split = split_named(record["split"]) if isinstance(record.get("split"), str) else ""
    return LoggedSample(others | ({"group": group} if group else {}), split)


def _answer(output: dict[str, Any]) -> dict[str, Any]:
    """What a trace returned; of a completion in OpenAI's form the message."""
    choices = output.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    return {"response": [message]} if isinstance(message, dict) else output


def _only_text(value: Any) -> Any:
    """The only text in an object without usual names, else all of it."""
    texts = [one for one in value.values() if isinstance(one, str)] if isinstance(value, dict) else []
    return texts[0] if len(texts) == 1 else fields.as_text(value) if value is not None else ""


def _value(text: Any) -> Any:
    """What an attribute holds, which is a text of JSON."""
    value = parsed(text) if isinstance(text, str) else text
    return with_numbers(value) if isinstance(value, dict) else value
