"""What trainers write beside samples, read alike for every format: metrics, configuration, checkpoints, a code diff.

A file that is missing or cannot be read is empty; a line that cannot be read is passed over. Memory is bounded.
"""

import os
from collections.abc import Iterable, Iterator

from rolloupe.formats import _fields as fields
from rolloupe.formats._jsonl import BLANK, BLOCK_BYTES, Record, Unusable, lines, parse, strip_bom
from rolloupe.model import Checkpoint, MetricRow, RunFile

MAX_VALUES = 10_000_000
"""Numbers of one metrics file that are kept: 20,000 steps of 500 metrics. What stands behind them is left out."""

MAX_CHECKPOINTS = 100_000
MAX_CONFIG_BYTES = 16 * 2**20
MAX_TEXT_BYTES = 4 * 2**20


def metric_rows(path: str | None, *, step_key: str = "step", time_key: str = "") -> list[MetricRow]:
    """Read a metrics file: rows of one step are merged, the last number of a key wins; see `TrainerFiles.metrics`.

    What is no number is left out, and so does not hide a number of the same key in an earlier row.
    """
    merged: dict[int, MetricRow] = {}
    loose: list[MetricRow] = []
    names: dict[str, str] = {}
    left = MAX_VALUES
    for record in records(path):
        step = fields.integer(record.get(step_key))
        values = {
            names.setdefault(key, key): value
            for key, member in record.items()
            if key not in (step_key, time_key) and (value := fields.number(member)) is not None
        }
        left -= len(values) + 1
        if step is None and not values:
            continue
        row = MetricRow(step=step, values={})
        if step is None:
            loose.append(row)
        else:
            row = merged.setdefault(step, row)
        row.values.update(values)
        row.time_s = fields.number(record.get(time_key)) if time_key in record else row.time_s
        if left <= 0:
            break
    return [*(merged[step] for step in sorted(merged)), *loose]


def checkpoints(path: str | None) -> list[Checkpoint]:
    """Read a list of checkpoints as the Tinker cookbook writes it: `name`, `batch`, paths named `..._path`."""
    found = []
    for record in records(path):
        name = fields.name(record.get("name")) or ""
        step = fields.integer(record.get("batch"))
        paths = {key: value for key, value in record.items() if key.endswith("_path") and isinstance(value, str)}
        placed = {*paths, "name"} if step is None else {*paths, "name", "batch"}
        found.append(
            Checkpoint(
                name=name,
                step=step if step is not None else fields.integer(name),
                paths=paths,
                extra={key: fields.showable(value) for key, value in record.items() if key not in placed},
            )
        )
        if len(found) == MAX_CHECKPOINTS:
            break
    return found


def config(path: str | None) -> Record:
    """Read a JSON document that holds an object."""
    data = _content(path, MAX_CONFIG_BYTES + 1)
    if len(data) > MAX_CONFIG_BYTES:
        return {}
    try:
        found = parse(strip_bom(data, 0))
    except Unusable:
        return {}
    return {key: fields.showable(value) for key, value in found.items()}


def plain_text(path: str | None) -> str:
    """Read a text file, cut short (and saying so) beyond `MAX_TEXT_BYTES`."""
    data = _content(path, MAX_TEXT_BYTES + 1)
    shown = data[:MAX_TEXT_BYTES].decode("utf-8", "replace")
    return shown if len(data) <= MAX_TEXT_BYTES else f"{shown}\n(cut: the file is longer than {MAX_TEXT_BYTES} bytes)\n"


def records(path: str | None) -> Iterator[Record]:
    """Yield the objects of a file of JSON lines, passing over what is none."""
    if path is None:
        return
    try:
        with open(path, "rb", buffering=BLOCK_BYTES) as file:
            for line in lines(file, 0, 2**62):
                data = strip_bom(line.data or b"", line.start)
                if not data.strip(BLANK):
                    continue
                try:
                    record = parse(data)
                except Unusable:
                    continue
                yield record
    except OSError:
        return


def run_files(found: Iterable[tuple[str, str, str]]) -> list[RunFile]:
    """Describe files, each given by its path, its name and what it is; those that are gone are left out."""
    listed = []
    for path, name, what in found:
        try:
            state = os.stat(path)
        except OSError:
            continue
        listed.append(RunFile(name=name, size_bytes=state.st_size, mtime_s=state.st_mtime, what=what))
    return listed


def _content(path: str | None, size: int) -> bytes:
    if path is None:
        return b""
    try:
        with open(path, "rb") as file:
            return file.read(size)
    except OSError:
        return b""
