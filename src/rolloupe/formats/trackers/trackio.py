"""Samples in the databases of trackio: traces, and tables among the metrics.

Source: trackio 0.43.0 (`sqlite_storage.py`), and files of versions from 0.24 on. The folder `traces/` beside a database
has copies of its traces for coding agents, which are no further samples.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, ClassVar

import apsw

from rolloupe.formats.completions.reward_parts import RewardFunctions, reward_functions
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.files import links_of
from rolloupe.formats.reading.trackers.curves import parsed
from rolloupe.formats.reading.trackers.databases import DatabaseTexts
from rolloupe.formats.reading.trackers.sqlite import (
    BadDatabase,
    bounded,
    is_database,
    size_of,
    states_of,
    stored_columns,
    why_too_large,
)
from rolloupe.formats.trackers.conversations import sample_of_trace
from rolloupe.formats.trackers.database_format import DatabaseFormat, RowsOfTable, width_for
from rolloupe.formats.trackers.logged_samples import Placed
from rolloupe.formats.trackers.trackio_metrics import EVAL, MARK, is_of_eval, row_before, samples_in
from rolloupe.formats.trackers.trackio_runs import METRICS, TRACES, Extent, LoggedIds, ProjectId, runs_of
from rolloupe.model import Location, RunInfo, RunPart
from rolloupe.storage import is_file

REWARDS = b"rewards/"


class Trackio(DatabaseFormat):
    """Samples in databases of trackio."""

    name = "trackio"
    title = "trackio"
    sizes: ClassVar = {
        TRACES: size_of(("messages", "metadata")),
        METRICS: size_of(("metrics",)),
    }
    recognises = (
        "A database `{project}.db`, or a folder with some, in which a run has traces, or tables of samples among its "
        "first or last 300 metrics. A database without any is curves."
    )
    layout = (
        "`$TRACKIO_DIR/{project}.db`, else `~/.cache/huggingface/trackio/{project}.db`, with its `-wal` while the "
        "trainer writes. Each run of the database is a run. Runs of verl's workers, which log traces of calls "
        "alone, belong to the run of their name. [frameworks/trackers.md](frameworks/trackers.md) has the switches."
    )
    identity = (
        "step = `step` or `global_step` of a trace or of a table's row, else `train/global_step` of the row, else "
        "trackio's own count; group = `group_id`, `group_index`, `trajectory_index`, of verl's traces `uid` or "
        "`sample_index` with a hash of the prompt, else that hash; index = `sample_index`, of verl's traces "
        "`rollout_n`, else the place in the database. Split `train`; `eval/NAME` by `split`, `mode`, `validate` or the "
        "trace's key, of TRL's tables by the metrics logged just before."
    )
    reads = (
        ("`messages`", "turns: the response begins at the first message of the assistant"),
        ("`reward`, `score`, `output.reward_score`", "reward; of `rewards/NAME` alone their sum"),
        (
            "tables with `prompt` and `completion`: the numbers right behind",
            "sample metrics `reward.NAME`; the reward is their sum, with `reward_weights` of the configuration",
        ),
        ("`advantage`, `advantages`", "advantage; a list also as token series"),
        ("verl's `output`", "token ids, logprobs and the loss mask; `response_text`, else text by the tokenizer"),
        ("other numbers and short texts", "sample metrics and tags"),
        ("metrics, configuration", "metrics, configuration"),
    )
    limits = (
        "Traces that trackio dropped (it caps them for each call) leave groups incomplete. Of verl's traces only calls "
        "that end in `.run` are samples. Samples that are deleted while the run is open stay in lists until it is "
        "opened again."
    )

    def runs_in(self, location: Location, links: str) -> list[RunInfo]:
        """See `DatabaseFormat`."""
        found = _project(location)
        if not any(run.has_samples for run in found):
            return []
        parts = (RunPart(location.path),)
        return [
            RunInfo(
                name=run.ids[0].name or run.ids[0].id, root=location.path, format=self.name, reason=_reason(run),
                parts=parts, within=run.ids[0].id, link_root=links,
            )
            for run in found
        ]  # fmt: skip

    def tables(self, run: RunInfo) -> Sequence[tuple[RowsOfTable, int, int]]:
        """See `DatabaseFormat`."""
        location = Location(run.root, links_of(run))
        found = next((one for one in _current(location, *states_of(location)) if one.ids[0].id == run.within), None)
        ids = found.ids if found else ()
        by_table = {
            TRACES: [(one, one.traces) for one in ids if one.traces],
            METRICS: [(one, one.tables) for one in ids if one.tables],
        }
        return [_rows(table, extents) for table, extents in by_table.items() if extents]

    def samples(self, database: apsw.Connection, rows: RowsOfTable, first: int, stop: int) -> Iterator[Placed]:
        """See `DatabaseFormat`."""
        columns = stored_columns(database, rows.table)
        key = "run_id" if "run_id" in columns else "run_name"
        yield from (_traces if rows.table == TRACES else _metrics)(database, rows, key, (first, stop))


_MARKED = f"(metrics NOT NULL AND {bounded('metrics')} IS NULL OR instr({bounded('metrics')}, ?))"
"""The condition for rows of metrics that may have samples: any that are too large."""


def _reason(run: LoggedIds) -> str:
    what = [name for name, own in (("traces", "traces"), ("tables", "tables")) if any(getattr(i, own) for i in run.ids)]
    if not what:
        return "a run of a trackio database, without samples"
    merged = f", logged under {len(run.ids)} ids" if len(run.ids) > 1 else ""
    return f"a run of a trackio database with {' and '.join(what)} of samples{merged}"


def _project(location: Location) -> list[LoggedIds]:
    try:
        return list(_current(location, *states_of(location))) if is_file(location.path) else []
    except (BadDatabase, OSError):
        return []


@lru_cache(maxsize=128)
def _current(location: Location, *_states: int) -> tuple[LoggedIds, ...]:
    return tuple(runs_of(location)) if is_database(location) else ()


def _rows(table: str, extents: Sequence[tuple[ProjectId, Extent]]) -> tuple[RowsOfTable, int, int]:
    own = [extent for _, extent in extents]
    rows = RowsOfTable(
        table, tuple(one.id for one, _ in extents), min(one.first for one in own), width_for(own[0].size_bytes)
    )
    return rows, max(one.last for one in own), max(one.changed_ns for one in own)


def _functions(database: apsw.Connection, rows: RowsOfTable) -> RewardFunctions:
    """What TRL's configuration, and the first metrics with a reward, say about its reward functions."""
    columns = stored_columns(database, "configs")
    key = "run_id" if "run_id" in columns else "run_name"
    if not {key, "config"} <= {*columns}:
        return RewardFunctions()
    own_id = rows.ids[0].encode()
    wanted = f"SELECT {bounded('config')} FROM configs WHERE {key} = CAST(? AS TEXT)"  # noqa: S608 - names of ours
    (config,) = database.execute(wanted, (own_id,)).fetchone() or (None,)
    return reward_functions(parsed(config or b""), _metrics_of_rewards(database, key, own_id))


def _metrics_of_rewards(database: apsw.Connection, key: str, own_id: bytes) -> Iterator[Any]:
    metrics = bounded("metrics")
    wanted = f"SELECT {metrics} FROM metrics WHERE +{key} = CAST(? AS TEXT) AND instr({metrics}, ?) ORDER BY rowid"  # noqa: S608 - names of ours
    yield from (parsed(one) for (one,) in database.execute(wanted, (own_id, REWARDS)))


def _own(key: str, rows: RowsOfTable) -> str:
    """The condition for the rows of a run."""
    return f"{key} IN ({', '.join(['CAST(? AS TEXT)'] * len(rows.ids))})"


def _traces(database: apsw.Connection, rows: RowsOfTable, key: str, span: tuple[int, int]) -> Iterator[Placed]:
    texts = DatabaseTexts(database)
    columns = stored_columns(database, TRACES)
    taken = ("key", "messages", "metadata", *(name for name in ("spans",) if name in columns))
    names = ", ".join((size_of(taken), *map(bounded, taken)))
    wanted = f"rowid >= ? AND rowid < ? AND +{_own(key, rows)} ORDER BY rowid"
    ids = [one.encode() for one in rows.ids]
    found = database.execute(f"SELECT rowid, step, {names} FROM traces WHERE {wanted}", (*span, *ids))  # noqa: S608 - names of ours
    for number, step, size_bytes, trace_key, messages, metadata, *rest in found:
        if too_large := why_too_large(size_bytes):
            yield Placed(rows.place_of(number), rows.width, "", str(number), too_large)
            continue
        stored = {"messages": parsed(messages or b""), "metadata": parsed(metadata or b"")}
        spans = parsed(rest[0]) if rest and rest[0] else None
        sample = sample_of_trace(texts.of(trace_key), stored["messages"], stored["metadata"], fields.integer(step))
        if sample is None:
            continue
        if spans and not isinstance(sample, str):
            sample.record["spans"] = spans
        about = {"key": texts.of(trace_key), "step": step} | stored | ({"spans": spans} if spans else {})
        yield Placed(rows.place_of(number), rows.width, "", str(number), sample, about)


def _metrics(database: apsw.Connection, rows: RowsOfTable, key: str, span: tuple[int, int]) -> Iterator[Placed]:
    functions = _functions(database, rows)
    wanted = f"rowid >= ? AND rowid < ? AND +{_own(key, rows)} AND {_MARKED} ORDER BY rowid"
    names = f"rowid, step, CAST({key} AS BLOB), {size_of(('metrics',))}, {bounded('metrics')}"
    ids = [one.encode() for one in rows.ids]
    found = database.execute(f"SELECT {names} FROM metrics WHERE {wanted}", (*span, *ids, MARK))  # noqa: S608 - names of ours
    for number, step, own_id, size_bytes, metrics in found:
        if too_large := why_too_large(size_bytes):
            yield Placed(rows.place_of(number), rows.width, "", str(number), too_large)
            continue
        run = (key, own_id, rows.first)
        last, table = (row_before(database, run, number, marked=marked) for marked in (False, True))
        split = EVAL if is_of_eval(last) else ""
        for part, sample, about in samples_in(metrics, fields.integer(step), split, functions, table):
            yield Placed(rows.place_of(number), rows.width, part, f"{number}.{part}", sample, about)
