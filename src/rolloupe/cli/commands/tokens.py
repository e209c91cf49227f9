"""`rolloupe tokens`: list the tokens of one sample, with every token series."""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from rolloupe.cli.options import JSON, command, words
from rolloupe.cli.runs import holding, opened, sample_in
from rolloupe.cli.terminal import NOTHING, OK, complain, dumps, number, print_table, safe_json, tell_csv, tell_safe
from rolloupe.errors import BadQuery
from rolloupe.questions import option
from rolloupe.server.settings import RunPaths

if TYPE_CHECKING:
    import pyarrow as pa


OWN = ("position", "id", "text", "role", "mask")
ALTERNATIVES = "top_logprobs"
ALL = "all"
BATCH_ROWS = 1024

SHOWN = 1_000
"""Lines of a table by default."""

TELLING = ("logprobs", "entropy", "kl_k3", "mismatch_kl", "advantages")
"""The series of a table by default: as many as fit into a terminal."""


def columns_of(value: str) -> tuple[str, ...]:
    """Read names between commas, each once."""
    return tuple(dict.fromkeys(filter(None, map(str.strip, value.split(",")))))


@dataclass(frozen=True, kw_only=True)
class TokenOptions:
    """Which tokens to list, and which of their columns."""

    words: tuple[str, ...]
    names: tuple[str, ...] = option((), "Only this token series; may be repeated.", flags=("--series",))
    columns: tuple[str, ...] = option(
        (),
        "Only these columns, in this order; all for every one. Default: some series in a table, else all.",
        "A,B,...",
        convert=columns_of,
    )
    worst: str | None = option(None, "The tokens with the greatest values of this series first.")
    limit: int | None = option(None, f"At most N tokens. Default: {SHOWN:,}; all with --json, --csv.", ge=1)
    as_json: bool = option(False, **JSON)
    as_csv: bool = option(False, "Print comma-separated values with a header.", flags=("--csv",))


@command(arguments=words("PATH... ID"))
def tokens(asked: TokenOptions, place: RunPaths) -> int:
    """List the tokens of one sample, a line each, with their token series.

    A table has position, id, text, role, mask (whether the token counts) and, of the series, logprobs, entropy, kl_k3,
    mismatch_kl and advantages, those that the sample has. --columns chooses among all columns: these, every other
    series, and top_logprobs, what the model could have sampled instead. A line below the table names the series that it
    leaves out.

    Series that follow from recorded ones, such as kl_k3 or importance_ratio, come after them; a name that ends in
    _difference is the recorded series minus the same series, computed.

    With --json, each object has position (from 0), id, text, role, mask, every series under its name, and top_logprobs,
    a list of objects with text (an id as text, where the record holds no strings) and logprob. Values that the record
    does not hold, and NaN, are null; infinities are the strings "Infinity" and "-Infinity".

    With --csv, each line has the same columns; null is empty, top_logprobs is JSON, and a text that a spreadsheet would
    take for a formula begins with an apostrophe.

    Examples:
      rolloupe tokens RUN_DIR train/12/3/97  # Every token of a sample, with its numbers
      rolloupe tokens RUN_DIR train/12/3/97 --worst kl_k3 --limit 20  # The 20 tokens with the greatest KL
      rolloupe tokens RUN_DIR train/12/3/97 --series logprobs --series entropy  # Two series alone
      rolloupe tokens RUN_DIR train/12/3/97 --columns text,logprobs,top_logprobs  # With their alternatives
      rolloupe tokens RUN_DIR train/12/3/97 --columns all --limit 300000 > tokens.txt  # Everything, as a table
      rolloupe tokens RUN_DIR train/12/3/97 --csv > tokens.csv  # For a spreadsheet
      rolloupe tokens RUN_DIR train/12/3/97 --json | jq -c '[.text, .mismatch_kl]'  # For a program
    """
    if asked.as_json and asked.as_csv:
        raise click.UsageError("--json and --csv exclude each other.")
    if asked.names and asked.columns:
        raise click.UsageError("--columns chooses series too: add those of --series to it")
    place, sample_id = sample_in(asked.words, place)
    with opened(place, may_be_empty=True) as runs:
        run, sample_id = holding(runs, sample_id)
        whole = _with_positions(run.sample(sample_id).tokens)
        table = _chosen(whole, asked)
        if not len(table):
            complain(f"Sample {sample_id} has no tokens: its record holds no token ids, strings or series.")
            return NOTHING
        if asked.as_json:
            for document in _documents(table):
                tell_safe(document)
            return OK
        if asked.as_csv:
            batches = table.to_batches(max_chunksize=BATCH_ROWS)
            columns = ([[*map(_known, column.to_pylist())] for column in batch.columns] for batch in batches)
            tell_csv(table.column_names, (row for of_batch in columns for row in zip(*of_batch, strict=True)))
            return OK
        shown = SHOWN if asked.limit is None else asked.limit
        some = table.slice(0, shown)
        names = [name for name in some.column_names if some[name].null_count < len(some)] or some.column_names
        cells = ([_cell(name, value) for value in some[name].to_pylist()] for name in names)
        print_table(names, zip(*cells, strict=True))
        if len(table) > shown:
            complain(f"{len(table) - shown:,} more of {len(table):,} tokens: see them with --limit, --json or --csv.")
        left_out = [name for name in _series(whole) if name not in table.column_names]
        if left_out and not asked.names and not asked.columns:
            complain(f"{len(left_out)} more series: {', '.join(left_out)}. See them with --columns.")
        return OK


def _with_positions(table: "pa.Table") -> "pa.Table":
    """Return a table with the places of its rows, from 0; a series of that name is called `series.position`."""
    import pyarrow as pa

    names = [f"series.{name}" if name == OWN[0] else name for name in table.column_names]
    return table.rename_columns(names).add_column(0, OWN[0], pa.array(range(len(table))))


def _series(table: "pa.Table") -> list[str]:
    return [name for name in table.column_names if name not in (*OWN, ALTERNATIVES)]


def _chosen(table: "pa.Table", asked: TokenOptions) -> "pa.Table":
    """Return the columns asked for; with `--worst`, the tokens with the greatest values of this series first.

    Raises `BadQuery` for an unknown column or series.
    """
    import pyarrow.compute as pc

    from rolloupe.tokens import name_among

    series = _series(table)
    names = [name_among(name, series) for name in asked.names]
    worst = [name_among(asked.worst, series)] if asked.worst else []
    for name in (*names, *worst):
        if name not in series:
            raise BadQuery(f"no token series {name!r}; the sample has: {', '.join(series) or 'none'}")
    telling = [name for name in TELLING if name in series] or series[: len(TELLING)]
    columns: Sequence[str] = asked.columns or [*OWN, *(names or telling), *worst]
    every = [*OWN, *series, ALTERNATIVES]
    if ALL in asked.columns or ((asked.as_json or asked.as_csv) and not names and not asked.columns):
        columns = every
    for name in columns:
        if name not in every:
            raise BadQuery(f"no column {name!r}; the sample has: {', '.join(every)}")
    for name in worst:
        known = table.filter(pc.invert(pc.is_nan(table[name])))
        table = known.sort_by([(name, "descending"), ("position", "ascending")])
    return table.select(list(dict.fromkeys(columns))).slice(0, asked.limit)


def _documents(table: "pa.Table") -> Iterator[str]:
    """Yield a JSON object for each row; column by column, for there may be millions of values."""
    keys = [f"{dumps(name)}: " for name in table.column_names]
    for batch in table.to_batches(max_chunksize=BATCH_ROWS):
        columns = []
        for name, column in zip(table.column_names, batch.columns, strict=True):
            values = column.to_pylist()
            if isinstance(values[0], float):
                columns.append([repr(one) if math.isfinite(one) else dumps(_known(one)) for one in values])
                continue
            encode = safe_json if name == ALTERNATIVES else dumps
            encoded = {one: "null" if one is None else encode(one) for one in {*values}}
            columns.append([encoded[one] for one in values])
        for row in zip(*columns, strict=True):
            yield f"{{{', '.join(map(str.__add__, keys, row))}}}"


def _known(value: Any) -> Any:
    """Return a value, None for NaN; a truth value as in JSON."""
    if isinstance(value, bool):
        return json.dumps(value)
    return None if value != value else value


def _cell(name: str, value: Any) -> float | str | None:
    if name == "mask":
        return "yes" if value else "no"
    if name == "text" and value is not None:
        return json.dumps(value, ensure_ascii=False)
    if name == ALTERNATIVES and value is not None:
        return ", ".join(f"{_cell('text', one['text'])} {number(one['logprob'])}" for one in json.loads(value))
    known: float | str | None = value
    return known
