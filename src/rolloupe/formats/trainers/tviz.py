"""The databases of tviz: SQLite with runs, steps, rollouts, which are groups, and their trajectories.

Source: `TvizLogger` of tviz 0.2.2. Lists are texts of JSON; columns of images and geographic places may be empty.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import apsw
from msgspec.structs import replace

from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.formats.reading.documents import NumberedFormat, unpacked
from rolloupe.formats.reading.files import files_at, is_one_file, links_of, source_at, while_unchanged
from rolloupe.formats.reading.records import Record, References, Unusable
from rolloupe.formats.reading.trackers import sqlite
from rolloupe.formats.reading.trainer_files import merged_metrics
from rolloupe.formats.token_texts import add_tokens, ids_of, series_of, shown
from rolloupe.model import Location, Locator, MetricRow, RunInfo, Sample, SampleRow, Source

BATCH_ROWS, BATCH_BYTES = 2000, 8 * 2**20
"""The most trajectories to read at a time, and their most bytes in all."""

_NEEDED = {"rollouts": {"id", "run_id", "step", "group_idx", "prompt_text"}, "trajectories": {"id", "rollout_id"}}
_OF_ROLLOUT = (
    "run_id", "step", "group_idx", "image_path", "gt_lat", "gt_lon", "city", "country", "prompt_text", "prompt_tokens",
)  # fmt: skip
_OF_TRAJECTORY = (
    "id", "trajectory_idx", "reward", "output_text", "output_tokens", "logprobs", "pred_lat", "pred_lon",
    "distance_km", "step_rewards",
)  # fmt: skip
_METRICS = ("gt_lat", "gt_lon", "pred_lat", "pred_lon", "distance_km")
_TAGS = ("city", "country")


class StoredRun(NamedTuple):
    """A run in a database."""

    id: str
    name: str
    config: Any
    ended: bool


class Tviz(NumberedFormat):
    """Databases of tviz."""

    name = "tviz"
    title = "tviz"
    takes_single_files = True
    endings = sqlite.ENDINGS
    suffixes = sqlite.ENDINGS
    placed = frozenset((*_OF_ROLLOUT, *_OF_TRAJECTORY)) - {"image_path", "step_rewards"}

    def detect(self, path: Path, *, forced: bool = False, link_root: str = "") -> list[RunInfo]:  # noqa: ARG002
        """See `Format`: each run of a database is one."""
        links = "" if is_one_file(path) else link_root or str(path.resolve())
        found = []
        for place in filter(sqlite.is_database, files_at(path, links, sqlite.ENDINGS)):
            run = self._run_at(Path(place.path), "a run in a database of tviz", links)
            found += [replace(run, name=stored.name or run.name, within=stored.id) for stored in stored_runs(place)]
        return found

    def sources(self, run: RunInfo) -> list[Source]:
        """Return the database, whose newest rows may still lie in its `-wal`."""
        place = Location(run.root, links_of(run))
        return [source_at(run, place, depends=repr(sqlite.states_of(place)))]

    def numbered(self, location: Location, within: str) -> Iterator[tuple[int, Record | Unusable]]:
        """See `NumberedFormat`: the number is the trajectory's id."""
        last = -(2**62)
        while found := _read(location, last, within, BATCH_ROWS):
            for record in found:
                yield record["id"], Unusable(record[sqlite.TOO_LARGE]) if sqlite.TOO_LARGE in record else record
            last = found[-1]["id"]

    def numbered_record(self, location: Location, number: int) -> Record:
        found = _read(location, number - 1, None, 1)
        if not found or found[0]["id"] != number:
            raise Unusable("it has no such trajectory")
        if sqlite.TOO_LARGE in found[0]:
            raise Unusable(found[0][sqlite.TOO_LARGE])
        return found[0]

    def row(self, source: Source, record: Record, start: int, length: int) -> SampleRow:  # noqa: ARG002
        prompt_ids, output_ids = ids_of(record["prompt_tokens"]), ids_of(record["output_tokens"])
        return parsers.row_of(
            start,
            length,
            parsers.as_text(record["prompt_text"]) or shown(prompt_ids),
            parsers.as_text(record["output_text"]) or shown(output_ids),
            split="train",
            step=parsers.integer(record["step"]) or 0,
            group=parsers.name(record["group_idx"]) or "",
            index=parsers.name(record["trajectory_idx"]) or str(start),
            reward=parsers.number(record["reward"]),
            prompt_tokens=len(prompt_ids) or None,
            response_tokens=len(output_ids) or None,
            total_tokens=(len(prompt_ids) + len(output_ids)) or None,
            metrics=parsers.numbers({name: record[name] for name in _METRICS}),
            tags=parsers.tags({name: record[name] for name in _TAGS}),
            has_series=bool(record["logprobs"]) and isinstance(record["logprobs"], list),
        )

    def references(self, record: Record) -> References:  # noqa: ARG002
        return References("", [])

    def sample(self, record: Record, row: SampleRow, locator: Locator) -> Sample:
        sample = super().sample(record, row, locator)
        sample.extra = {key: value for key, value in sample.extra.items() if value is not None}
        logprobs = {"logprobs": record["logprobs"]}
        sample.series, sample.notes = series_of(logprobs, row.total_tokens or 0, row.prompt_tokens or 0)
        return sample

    def annotate(self, run: RunInfo, record: Record, sample: Sample) -> None:
        prompt_ids, output_ids = ids_of(record["prompt_tokens"]), ids_of(record["output_tokens"])
        add_tokens(run, sample, [*prompt_ids, *output_ids], len(prompt_ids), has_text=bool(record["output_text"]))

    def config(self, run: RunInfo) -> dict[str, Any]:
        stored = self._stored(run)
        return parsers.as_dict(stored.config) if stored else {}

    def ending(self, run: RunInfo) -> str:
        stored = self._stored(run)
        return "" if stored is None else "ended" if stored.ended else "open"

    def _stored(self, run: RunInfo) -> StoredRun | None:
        runs = stored_runs(Location(run.root, links_of(run)))
        return next((stored for stored in runs if stored.id == run.within), None)

    def metrics(self, run: RunInfo) -> list[MetricRow]:
        place = Location(run.root, links_of(run))
        try:
            rows = sqlite.read_database(place, lambda database: _steps(database, run.within))
        except sqlite.BadDatabase:
            return []
        return merged_metrics(rows)


@while_unchanged(64, sqlite.states_of, errors=(sqlite.BadDatabase, OSError), otherwise=())
def stored_runs(location: Location) -> tuple[StoredRun, ...]:
    """Return the runs of a database that have trajectories; empty for an unreadable file."""
    return sqlite.read_database(location, _runs, sqlite.LISTING_S)


def _runs(database: apsw.Connection) -> tuple[StoredRun, ...]:
    if any(not columns <= sqlite.stored_columns(database, table) for table, columns in _NEEDED.items()):
        return ()
    columns = ("id", "name", "config", "ended_at")
    has_runs = {*columns} <= sqlite.stored_columns(database, "runs")
    stored = sqlite.table_rows(database, columns, f"FROM runs LIMIT {sqlite.MOST_RUNS}") if has_runs else ()
    about = {parsers.as_text(row["id"]): row for row in stored}
    rest = f"FROM rollouts GROUP BY run_id ORDER BY MIN(id) LIMIT {sqlite.MOST_RUNS}"
    found = []
    for group in sqlite.table_rows(database, ("run_id",), rest):
        own_id = parsers.as_text(group["run_id"])
        row = about.get(own_id, {})
        config = parsers.showable(unpacked(row.get("config")))
        found.append(StoredRun(own_id, parsers.name(row.get("name")) or own_id, config, bool(row.get("ended_at"))))
    return tuple(found)


def _read(location: Location, after: int, run_id: str | None, count: int) -> list[Record]:
    """Read trajectories, of one run or of all, after an id. Raises `Unusable`."""
    try:
        return sqlite.read_database(location, lambda database: _trajectories(database, after, run_id, count))
    except sqlite.BadDatabase as error:
        raise Unusable(str(error)) from None


def _trajectories(database: apsw.Connection, after: int, run_id: str | None, count: int) -> list[Record]:
    of_group, of_one = sqlite.stored_columns(database, "rollouts"), sqlite.stored_columns(database, "trajectories")
    columns = [f"r.{name}" for name in _OF_ROLLOUT if name in of_group]
    columns += [f"t.{name}" for name in _OF_TRAJECTORY if name in of_one]
    if not {"t.id", "r.run_id"} <= {*columns}:
        raise ValueError("it is not a database of tviz")
    where = "WHERE t.id > ?" if run_id is None else "WHERE t.id > ? AND r.run_id = ?"
    rest = f"FROM trajectories AS t CROSS JOIN rollouts AS r ON r.id = t.rollout_id {where} ORDER BY t.id LIMIT ?"
    values = [after, *([] if run_id is None else [run_id]), count]
    empty = dict.fromkeys((*_OF_ROLLOUT, *_OF_TRAJECTORY))
    packed = ("prompt_tokens", "output_tokens", "logprobs", "step_rewards")
    found, left = [], BATCH_BYTES
    for stored in sqlite.table_rows(database, columns, rest, values):
        row = empty | stored
        found.append(row | {name: unpacked(row[name]) for name in packed})
        left -= sum(len(value) for value in stored.values() if isinstance(value, str))
        if left <= 0:
            break
    return found


def _steps(database: apsw.Connection, run_id: str) -> list[Record]:
    left_out = {"id", "run_id", "created_at"}
    columns = sorted(name for name in sqlite.stored_columns(database, "steps") - left_out if name.isidentifier())
    if "step" not in columns:
        return []
    rows = sqlite.table_rows(database, columns, "FROM steps WHERE run_id = ? ORDER BY id", (run_id,))
    return [parsers.as_dict(unpacked(row.pop("extras", None))) | row for row in rows]
