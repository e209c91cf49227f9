"""How a command opens its runs, asks them a declared question, and says what is missing."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import msgspec

from rolloupe.cli import options, progress
from rolloupe.cli.options import OutputOptions, command, records_in
from rolloupe.cli.terminal import NOTHING, OK, complain, counted, print_table, tell, tell_json
from rolloupe.errors import BadQuery, IncompleteIndex, NotFound
from rolloupe.questions import QUESTIONS, Query
from rolloupe.server.settings import RunPaths

if TYPE_CHECKING:
    from rolloupe.api import Run, Runs
    from rolloupe.formats.discovery import Note

SHUT = "could not be read"
"""The words of a note about a file or a folder that cannot be read."""

LISTED = 10
"""How many missing parts of the index are listed; the rest are counted."""

NUMBERED = re.compile(r"(?P<split>[^#]+)/(?P<step>-?\d{1,18})#(?P<number>\d{1,18})", re.DOTALL)
"""A sample by its number in its step; ids escape `#` as %23."""


def open_runs(place: RunPaths, *, state_dir: str | None = None, **how: Any) -> "Runs":
    """Open the runs of a place; `how` are further arguments of `runs_at`."""
    from rolloupe.index.execution import keep_pandas_out

    keep_pandas_out()
    from rolloupe import api
    from rolloupe.storage import notices

    notices.listen(complain)
    paths = [Path(path) for path in place.paths]
    return api.runs_at(paths, index_dir=place.index_dir, reading=place.reading, state_dir=state_dir, **how)


@contextmanager
def opened(
    place: RunPaths, *, reads_index: bool = True, texts: bool = False, may_be_empty: bool = False,
    state_dir: str | None = None, **how: Any,
) -> "Iterator[Runs]":  # fmt: skip
    """Open the runs of a place, or the one that `--run` names, and wait, with a progress bar, until they are indexed.

    Ends the command if no run is there, unless the place may be empty. `how` are further arguments of `runs_at`.

    Raises `NotFound` if there are runs, but not that of `--run`. Raises `IncompleteIndex` after the command has
    answered if parts of the index are missing; with `texts`, parts without texts count, too. Commands without
    `reads_index` answer from the run's files alone; for them it raises only if they found nothing.
    """
    with progress.looking():
        runs = open_runs(place, state_dir=state_dir, only=place.run_id, numbers_first=not texts, **how)
    with runs:
        if not (len(runs) or may_be_empty):
            explain_nothing(runs)
            raise click.exceptions.Exit(NOTHING)
        if reads_index:
            progress.wait(runs, texts=texts)
        try:
            check_reward_key(runs, place.reading.reward_key)
            for source in (source for run in runs for source in (run.curve_sources() if place.reading.metrics else ())):
                if source.is_named and source.note:
                    complain(f"{source.path}: {source.note}")
            yield runs
        except (BadQuery, NotFound) as error:
            if isinstance(error, NotFound) or error.column is not None:  # it may be in a missing part
                require_complete(runs, texts=texts, before=f"{error}. ")
            raise
        if reads_index:
            require_complete(runs, texts=texts)


def check_reward_key(runs: "Runs", key: str) -> None:
    """Refuse a reward key that no run has: all rewards would silently disappear."""
    if not (key and len(runs)):
        return
    metrics = {name for run in runs for name in (*run.columns(), *run.value_names()[0])}
    if metrics.isdisjoint((key, f"reward.{key}")):
        raise BadQuery(
            f"no run has a sample metric {key!r} to use as the reward; there are: {', '.join(sorted(metrics)[:40])}",
            column=key,
        )


def require_complete(runs: "Runs", *, texts: bool = False, before: str = "") -> None:
    """Raise `IncompleteIndex`, which lists the missing parts, if these runs could not be indexed completely."""
    missing = [
        f"  {run.id}, {part.source}, {part.reason.partition('. Next:')[0]}"
        for run in runs
        for part in run.failures(texts=texts)
    ]
    if not missing:
        return
    count = f"{counted(len(missing), 'part')} of the index could not be made"
    loss, cause = "answers lack their contents", "fix it"
    if texts and not any(run.failures() for run in runs):
        loss = "searches are slower without their texts, and derived metrics lack their values"
    if any("could not be written" in line for line in missing):
        cause = "fix the cause, such as a full disk, or name another folder with --index-dir"
    more = [f"  and {len(missing) - LISTED} more"] if len(missing) > LISTED else []
    head = f"{before}{count} at {runs.index_dir}; {loss}:"
    raise IncompleteIndex("\n".join([head, *missing[:LISTED], *more, f"Next: {cause}; then try again"]))


def only(runs: "Runs", *, reads_index: bool = True) -> "Run":
    """Return the only run, whose index must be complete if it is read. Raises `NotFound`, and `IncompleteIndex`."""
    if len(runs) > 1:
        names = ", ".join(run.id for run in runs[:20])
        raise NotFound(f"{len(runs)} runs are there: choose one with --run; they are {names}")
    if reads_index:
        require_complete(runs)
    return runs[0]


def explain_nothing(runs: "Runs") -> None:
    """Explain on standard error why no run was found."""
    complain("No run was found. `rolloupe doctor PATH` says more.")
    _complain_of(runs.notes)


def name_shut(runs: "Runs") -> None:
    """Print on standard error which places were not looked at, or could not be read."""
    _complain_of([note for note in runs.notes if note.is_late])
    shut = [note for note in runs.notes if SHUT in note.reason and not note.is_late]
    if shut:
        complain(f"{counted(len(shut), 'place')} could not be read. `rolloupe doctor PATH` says more.")
        _complain_of(shut)


def _complain_of(notes: "Sequence[Note]") -> None:
    for note in sorted(notes, key=lambda note: not note.is_late)[:5]:
        complain(f"  {note.path}: {note.reason}")


def sample_in(words: Sequence[str], place: RunPaths) -> tuple[RunPaths, str]:
    """Return the place and the sample that `PATH... ID` names. A usage error if one is missing."""
    if not words:
        raise click.UsageError("Missing argument 'ID'. `rolloupe query PATH` has the ids.")
    *paths, sample_id = words
    if not (paths or place.paths):
        raise click.UsageError(f"Missing argument 'ID'. `rolloupe query {sample_id}` has the ids.")
    return options.with_paths(place, [*paths, *place.paths]), sample_id


def holding(runs: "Runs", sample_id: str) -> "tuple[Run, str]":
    """Return the run that has the sample, and its id. Raises `NotFound` if no run has it, or several."""
    if not len(runs):
        explain_nothing(runs)
    if numbered := NUMBERED.fullmatch(sample_id):
        matches = [(run, key) for run in runs if (key := _by_number(run, numbered)) is not None]
    else:
        matches = [(run, sample_id) for run in runs if len(runs) == 1 or run.has(sample_id)]
    if len(matches) == 1:
        return matches[0]
    names = ", ".join(run.id for run in ([run for run, _ in matches] or [*runs])[:20]) or "none"
    if matches:
        raise NotFound(f"several runs have a sample {sample_id!r}; choose one with --run: {names}")
    raise NotFound(f"no run has a sample {sample_id!r}; looked in: {names}")


def _by_number(run: "Run", place: re.Match[str]) -> str | None:
    """Return the id of a sample by its number in its step; None if the run has no such step or sample."""
    where = f"number = {place['number']}"
    try:
        sample = next(run.samples(split=place["split"], step=int(place["step"]), where=where, limit=1), None)
    except NotFound:
        return None
    return None if sample is None else str(sample.key)


class Answers(NamedTuple):
    """The answers that a command shows."""

    runs: "Sequence[Run]"
    as_json: bool
    each: "Iterator[tuple[Run, Any]]"
    """Each run with its answer; each question is asked when the iteration reaches the run."""


def asks(name: str) -> Callable[[Callable[..., int | None]], click.Command]:
    """Make a command that asks a question of the runs that it is given, and has a function show the answers.

    The function takes `Answers`, and records of options of its own. It may return an exit code.
    """
    question = QUESTIONS[name]

    def decorate(show: Callable[..., int | None]) -> click.Command:
        records: dict[str, type[Any]] = {"query": question.query, **records_in(show), "output": OutputOptions}

        def ask(place: RunPaths, query: Query, output: OutputOptions, **own: Any) -> int:
            state_dir = getattr(own.get("asked"), "state_dir", None)
            with opened(place, texts=question.needs == "derived", state_dir=state_dir) as runs:
                each = map(lambda run: (run, run.ask(query)), runs)  # noqa: C417  # it goes on after an error
                return show(Answers(runs, output.as_json, each), **own) or OK

        ask.__name__, ask.__doc__ = name, show.__doc__
        return command(records=records)(ask)

    return decorate


def plain_command(name: str) -> click.Command:
    """Return the command of a question without a module: it prints the facts of the answer, then its rows."""
    question = QUESTIONS[name]

    def show(answers: Answers) -> None:
        for run, answer in answers.each:
            facts = msgspec.to_builtins(answer)
            rows = facts.pop(question.rows)
            if answers.as_json:
                print_json(run, facts, *rows)
                continue
            named = (f"{fact} {value}" for fact, value in facts.items() if value not in (None, "", [], {}))
            tell(f"{run.id}: {', '.join(named)}")
            if rows:
                print_table([*rows[0]], [[str(value) for value in row.values()] for row in rows])

    show.__doc__ = f"{question.about}\n\nExamples:\nrolloupe {name} RUN_DIR --json # For a program"
    return asks(name)(show)


def print_json(run: "Run", *records: Any) -> None:
    """Print records of an answer, one JSON object a line, each with the id of its run."""
    for record in records:
        tell_json({"run": run.id, **msgspec.to_builtins(record)})
