"""`rolloupe query`: list samples by step, split, condition and order."""

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rolloupe.cli import new_file, progress
from rolloupe.cli.options import GROUP, JSON, SPLIT, STEP, WHERE, StepRange, command
from rolloupe.cli.runs import opened, require_complete
from rolloupe.cli.terminal import FIXED, NOTHING, OK, complain, print_table, sample_record, tell, tell_json
from rolloupe.errors import BadQuery, NotFound
from rolloupe.model import ALIASES, KNOWN
from rolloupe.questions import option
from rolloupe.server.settings import RunPaths

if TYPE_CHECKING:
    from rolloupe.api import Run, Runs
    from rolloupe.query import SampleItem, SampleQuery

TABLE_LIMIT = 50
"""Rows of the table unless `--limit` changes it; a line below counts the others."""


def file_of(value: str) -> Path:
    """Check the extension of a file."""
    if Path(value).suffix.lower() not in (".jsonl", ".csv", ".parquet"):
        raise click.BadParameter(f"{value!r} does not end in .jsonl, .csv or .parquet")
    return Path(value)


@dataclass(frozen=True, kw_only=True)
class QueryOptions:
    """Which samples to list, in which order and form."""

    split: str | None = option(None, **SPLIT)
    steps: StepRange = option(None, **STEP)
    group: str | None = option(None, **GROUP)
    where: str = option("", **WHERE)
    sort: str = option("index", "index (the default), length, reward or any sample metric.", "COLUMN")
    descending: bool = option(False, "Sort from large to small; missing values stay last.", flags=("--desc",))
    limit: int | None = option(None, f"List at most N. Default: all; {TABLE_LIMIT} in the table.", "N", 0, 2**53)
    offset: int = option(0, "Skip the first N.", "N", 0, 2**53)
    as_json: bool = option(False, **JSON)
    file: Path | None = option(
        None,
        "Write all columns and the whole texts to FILE, which ends in .jsonl, .csv or .parquet.",
        "FILE",
        flags=("--to",),
        convert=file_of,
    )
    overwrite: bool = option(False, "With --to: replace FILE if it exists.")


@command()
def query(asked: QueryOptions, place: RunPaths) -> int:
    """List samples, narrowed and sorted.

    If PATH holds several runs, the command lists one run after another; --sort orders the samples within each run.

    Conditions are `column operator value`, joined by and, or, not and parentheses; operators are = != < <= > >=,
    contains (text, ignoring case), in (a, b) and is null. You can compare two numeric columns. Quote names and values
    that contain blanks or symbols. A missing value satisfies no comparison but !=.

    Columns are COLUMNS, number (in its step, from 0), every sample metric, every tag and every derived metric, such as
    max_kl (derived.max_kl where a sample metric or a tag is called max_kl); `metric.NAME` and `tag.NAME` are metrics
    and tags that share their name with another column. Unless a sample metric or a tag has that name, ALIASES.

    token "Wait" selects samples with a trained token of exactly this string, with or without a blank before it. It
    needs token series with strings, or with ids and a tokenizer; without a tokenizer, token 40 is the id.

    The result includes discarded samples; --where 'discarded is null' leaves them out.

    With --json, each object has KEYS and every sample metric under its own name (`metric.NAME` if that name is taken).
    discarded is the reason, or null.
    Missing values are null; numbers that JSON lacks are the strings "NaN", "Infinity" and "-Infinity". All samples are
    written unless you give --limit.

    With --to, each row has these columns and more: every tag, the whole prompt and response, label (the ground truth)
    and ref_response (of the reference model). In CSV, an apostrophe precedes text that a spreadsheet would read as a
    formula. The command does not replace an existing file without --overwrite.

    Examples:
      rolloupe query RUN_DIR --step 12  # The samples of one step
      rolloupe query RUN_DIR --where 'reward < 0.1 and response_tokens > 4000'  # Long and bad
      rolloupe query RUN_DIR --split train --sort reward --desc --limit 10 --json  # The ten best, for a program
      rolloupe query RUN_DIR --where 'reward = 1 and (turns > 3 or not status in (completed))'  # Or, not, in
      rolloupe query RUN_DIR --where 'reward = 0 and token "Wait"'  # Failures in which Wait is a token
      rolloupe query RUN_DIR --step 12 --where 'discarded is null'  # Trained samples only
      rolloupe query RUN_DIR --step 0:9 --where 'status = truncated' --json | jq -r .id  # Only their ids
      rolloupe query RUN_DIR --where 'reward < 0.1' --to bad.parquet  # Write them to a file, with their whole texts
    """
    from rolloupe.api import sample_query
    from rolloupe.query import needs_whole_index

    if asked.overwrite and asked.file is None:
        raise click.UsageError("--overwrite replaces the FILE of --to: add --to FILE, or leave --overwrite out")
    if asked.file is not None:
        new_file.refuse_existing(asked.file, overwrite=asked.overwrite)
    names = ("split", "steps", "group", "where", "sort", "descending")
    question = sample_query(**{name: getattr(asked, name) for name in names})
    counts = Counter[str]()
    with opened(place) as runs:
        is_behind = any(needs_whole_index(question, *run.value_names()) for run in runs)
        if is_behind:
            progress.wait(runs, texts=True)  # the index writes them with the texts
        is_table = not (asked.as_json or asked.file is not None)
        most = TABLE_LIMIT if is_table and asked.limit is None else asked.limit
        stop = None if most is None else asked.offset + most

        def rows() -> "Iterator[tuple[Run, SampleItem]]":
            for run, item in islice(_samples(runs, question), asked.offset, stop):
                counts.update(samples=1, discarded=bool(item.discarded))
                yield run, item

        if asked.file is not None:
            _write_file(asked.file, runs, question, rows(), overwrite=asked.overwrite)
            tell(f"{counts['samples']:,} {'sample is' if counts['samples'] == 1 else 'samples are'} in {asked.file}")
        elif asked.as_json:
            for run, item in rows():
                tell_json(sample_record(run.id, item))
        else:
            _print([*rows()], asked.sort, many=len(runs) > 1)
        shown = counts["samples"]
        if is_table and asked.limit is None and shown == TABLE_LIMIT:
            _say_left(runs, question, asked.offset + shown)
        if shown and question.where:
            _say_unlike_page(runs, question, shown, counts["discarded"])
        if is_behind or not shown:
            require_complete(runs, texts=is_behind)
        if not shown:
            reasons: dict[str, None] = {}
            for run in runs[:3]:
                with contextlib.suppress(BadQuery, NotFound):
                    reasons |= dict.fromkeys(run.why_none(question))
            complain(" ".join(["No sample matches.", *reasons]) + where_there_are(runs))
        return OK if shown else NOTHING


ALIAS_WORDS = ", ".join(f"{alias} means {column}" for alias, column in ALIASES.items())
query.help = str(query.help).replace("COLUMNS", ", ".join(KNOWN)).replace("ALIASES", ALIAS_WORDS)
query.help = query.help.replace("KEYS", ", ".join(FIXED))


def _samples(runs: "Runs", query: "SampleQuery") -> "Iterator[tuple[Run, SampleItem]]":
    """Yield the samples of all runs. Skips a run without a column of the query, with a note, unless all lack it."""
    refused = 0
    for run in runs:
        items = iter(run.samples(query))
        try:
            first = next(items, None)
        except (BadQuery, NotFound) as error:
            refused += 1
            if refused == len(runs):
                raise
            complain(f"Run {run.id} is left out: {error}")
            continue
        if first is not None:
            yield run, first
            for item in items:
                yield run, item


def _say_unlike_page(runs: "Runs", query: "SampleQuery", shown: int, discarded: int) -> None:
    """Say how many of the samples the page lists apart, and which samples lack what the conditions name."""
    from rolloupe.query.filter.parser import leaves

    if discarded and not any(getattr(one, "column", "") == "discarded" for one in leaves(query.where)):
        complain(f"Discarded: {discarded:,} of {shown:,}. 'discarded is null' leaves them out, as the page does.")
    for run in runs[:3]:
        with contextlib.suppress(BadQuery, NotFound):
            for reason in run.why_few(query):
                complain(reason)


def where_there_are(runs: "Runs") -> str:
    """Return the existing splits and steps as a hint, if the query asked for others."""
    splits = [split for run in runs[:3] for split in run.splits()[:6]]
    listed = [f"{split.name} (steps {split.first_step} to {split.last_step})" for split in splits]
    return f" There are: {', '.join(listed)}." if listed else ""


def _write_file(
    file: Path, runs: "Runs", question: "SampleQuery", rows: "Iterable[tuple[Run, SampleItem]]", *, overwrite: bool
) -> None:
    """Write all columns of some samples. Raises `NotWritable` as `new_file` does."""
    from rolloupe import export
    from rolloupe.query import derived_names, judgements_in

    names = [run.value_names() for run in runs]
    metrics, tags = ([name for of_run in kinds for name in of_run] for kinds in zip(*names, strict=True))
    tags += judgements_in(question) - {*tags}
    derived = dict.fromkeys(name for of_run in names for name in derived_names(question, *of_run))
    columns = export.columns_of(metrics, tags, [*derived], is_whole=True)
    records = (record for run, item in rows for record in export.rows(run.id, [item], columns, run.texts))
    with new_file.new_file(file, runs, overwrite=overwrite) as target:
        target.writelines(export.written(file.suffix[1:].lower(), columns, records))


def _print(pairs: "Sequence[tuple[Run, SampleItem]]", sort: str, *, many: bool) -> None:
    from rolloupe.query import value_of

    values = [value_of(item, sort) for _, item in pairs if sort not in ("reward", "advantage")]
    numbers = [value if isinstance(value, float) else None for value in values]
    sorted_by = numbers if any(value is not None for value in numbers) else [""] * len(pairs)
    rows = [
        [
            run.id if many else "", str(item.key), item.reward, item.advantage, value, item.status, item.discarded,
            item.turns, item.response_tokens, item.response,
        ]
        for (run, item), value in zip(pairs, sorted_by, strict=True)
    ]  # fmt: skip
    columns = ("run", "id", "reward", "advantage", sort, "status", "discarded", "turns", "tokens", "response")
    if rows:
        print_table(columns, rows)


def _say_left(runs: "Runs", query: "SampleQuery", seen: int) -> None:
    remaining = -seen
    for run in runs:
        with contextlib.suppress(BadQuery):
            remaining += run.total(query)
    if remaining > 0:
        complain(f"{remaining} more: see them with --limit, --offset or --json.")
