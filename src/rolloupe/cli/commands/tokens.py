"""`rolloupe tokens`: list the tokens of one sample, with every token series."""

import json
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from rolloupe.cli import one_sample, options
from rolloupe.cli.frame import NOTHING, OK, Command, Example
from rolloupe.cli.json_output import dumps
from rolloupe.cli.terminal import complain, number, print_table, tell
from rolloupe.errors import BadQuery

if TYPE_CHECKING:
    import pyarrow as pa

EXAMPLES = (
    Example("rolloupe tokens RUN_DIR train/12/3/97", "Every token of a sample, with its numbers"),
    Example("rolloupe tokens RUN_DIR train/12/3/97 --worst kl_k3 --limit 20", "The 20 tokens with the greatest KL"),
    Example("rolloupe tokens RUN_DIR train/12/3/97 --series logprobs --series entropy", "Two series alone"),
    Example("rolloupe tokens RUN_DIR train/12/3/97 --json | jq -c '[.text, .mismatch_kl]'", "For a program"),
)

OWN = ("position", "id", "text", "role", "mask")
BATCH_ROWS = 1024

SHOWN = 1_000
"""Lines of a table unless somebody asks for more: to lay out many takes long."""


@click.command(cls=Command, examples=EXAMPLES)
@one_sample.sample
@options.one_run
@click.option("--series", "names", multiple=True, metavar="NAME", help="Only this token series; may be repeated.")
@click.option("--worst", metavar="NAME", help="The tokens with the greatest values of this series first.")
@click.option(
    "--limit", type=click.IntRange(min=1), metavar="N", help=f"At most N tokens. Default: {SHOWN:,}; all with --json."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on each line.")
@options.reading
def tokens(
    words: tuple[str, ...],
    data_dirs: tuple[str, ...],
    run_id: str | None,
    names: tuple[str, ...],
    worst: str | None,
    limit: int | None,
    as_json: bool,
    **reading: Any,
) -> int:
    """List the tokens of one sample, a line each: text, role, and every token series.

    Series that follow from recorded ones, such as kl_k3 or importance_ratio, come after them; a name that ends in
    _difference is the recorded series minus the same series, computed.

    With --json, each object has position (from 0), id, text, role, mask (whether the token counts) and every series
    under its name. What the record does not hold is null; numbers that JSON lacks are the strings "NaN", "Infinity" and
    "-Infinity".
    """
    paths, sample_id = one_sample.paths_and_id(words, data_dirs)
    with options.opened(options.place_of(paths, data_dirs, **reading), run_id=run_id) as runs:
        run, sample_id = one_sample.holding(runs, run_id, sample_id)
        table = _chosen(run.sample(sample_id).tokens, names, worst)
        if limit is not None:
            table = table.slice(0, limit)
        if not len(table):
            complain(f"Sample {sample_id} has no tokens: its record holds no token ids, strings or series.")
            return NOTHING
        if as_json:
            for document in _documents(table):
                tell(document)
            return OK
        shown = SHOWN if limit is None else limit
        _print(table.slice(0, shown))
        if len(table) > shown:
            complain(f"{len(table) - shown:,} more of {len(table):,} tokens: see them with --limit or --json.")
        return OK


def _chosen(table: "pa.Table", names: tuple[str, ...], worst: str | None) -> "pa.Table":
    """Return the rows and columns asked for, with `position` first. Raises `BadQuery` for an unknown series."""
    import pyarrow as pa
    import pyarrow.compute as pc

    series = table.column_names[len(OWN) - 1 :]
    for name in (*names, *([worst] if worst else ())):
        if name not in series:
            raise BadQuery(f"no token series {name!r}; the sample has: {', '.join(series) or 'none'}")
    table = table.add_column(0, "position", pa.array(range(len(table))))
    if worst:
        known = table.filter(pc.invert(pc.is_nan(table[worst])))
        table = known.sort_by([(worst, "descending"), ("position", "ascending")])
    shown = dict.fromkeys((*names, *([worst] if worst else ()))) if names else dict.fromkeys(series)
    return table.select([*OWN, *shown])


def _documents(table: "pa.Table") -> Iterator[str]:
    """Yield a JSON object for each row; column by column, for there may be millions of values."""
    keys = [f"{dumps(name)}: " for name in table.column_names]
    for batch in table.to_batches(max_chunksize=BATCH_ROWS):
        columns = [_values(column.to_pylist()) for column in batch.columns]
        for row in zip(*columns, strict=True):
            yield f"{{{', '.join(map(str.__add__, keys, row))}}}"


def _values(column: list[Any]) -> list[str]:
    """Return values of one type as JSON."""
    if isinstance(column[0], float):
        return [repr(one) if math.isfinite(one) else dumps(one) for one in column]
    known = {one: dumps(one) for one in {*column}}
    return [known[one] for one in column]


def _print(table: "pa.Table") -> None:
    """Print a table without the columns that are empty."""
    names = [name for name in table.column_names if table[name].null_count < len(table)]
    numbers = tuple(name for name in names if name not in ("text", "role", "mask"))
    rows = [[_cell(name, row[name]) for name in names] for row in table.to_pylist()]
    print_table(names, rows, numbers=numbers)


def _cell(name: str, value: Any) -> str:
    if name == "mask":
        return "yes" if value else "no"
    if name == "text":
        return "-" if value is None else json.dumps(value, ensure_ascii=False)
    return str(value) if isinstance(value, str) else number(value)
