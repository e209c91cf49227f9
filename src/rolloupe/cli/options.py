"""The options that commands share, and how a command opens the runs they name."""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from rolloupe.cli import progress
from rolloupe.cli.terminal import complain
from rolloupe.errors import BadQuery, IncompleteIndex, NotFound, NotRecognised, RolloupeError
from rolloupe.model import AS_FOUND, Reading

if TYPE_CHECKING:
    from rolloupe.api import Run, Runs

F = TypeVar("F", bound=Callable[..., Any])


class RunPaths(NamedTuple):
    """Which runs a command is about, and how they are read."""

    paths: tuple[str, ...]
    index_dir: str | None = None
    reading: Reading = AS_FOUND


def format_of(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Check the name of a format; the formats are imported only where one is named."""
    if value is None:
        return None
    from rolloupe.formats import by_name

    try:
        return by_name(value).name
    except NotRecognised as error:
        raise click.BadParameter(str(error), ctx, param) from None


def fields_of(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[tuple[str, str], ...]:
    """Read the file of `--map`."""
    if value is None:
        return ()
    from rolloupe.formats import read_fields

    try:
        return read_fields(Path(value))
    except RolloupeError as error:
        raise click.BadParameter(str(error), ctx, param) from None


LISTED = 10
"""At most this many missing parts of the index are listed; the rest is counted."""

SIZE = re.compile(r"(?P<number>\d{1,9}(?:\.\d{1,9})?)\s*(?P<unit>[kmgt]?)(?P<binary>i?)b?", re.IGNORECASE)


def size_of(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """Read a number of bytes: `500MB`, `20GiB`, `1000000`."""
    if value is None:
        return None
    found = SIZE.fullmatch(value)
    if found is None:
        raise click.BadParameter(f"{value!r} is no size; write such as 500MB or 20GiB", ctx, param)
    base = 1024 if found["binary"] else 1000
    return int(float(found["number"]) * base ** " kmgt".index(found["unit"].lower() or " "))


def budget(command: F) -> F:
    """Add `--index-budget`."""
    return click.option(
        "--index-budget",
        "budget_bytes",
        callback=size_of,
        metavar="SIZE",
        help="Room for the index, such as 20GB: above it the texts of the oldest steps go first. Default: no limit.",
    )(command)


def state(command: F) -> F:
    """Add `--state-dir`."""
    return click.option(
        "--state-dir",
        envvar="ROLLOUPE_STATE_DIR",
        show_envvar=True,
        metavar="DIR",
        help="Where bookmarks, notes, names and colours are kept. Default: the user's data directory.",
    )(command)


def range_of(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[float, float] | None:
    """Read `LO:HI`."""
    if value is None:
        return None
    low, _, high = value.partition(":")
    try:
        found = float(low), float(high)
    except ValueError:
        found = math.nan, math.nan
    if not (math.isfinite(found[0]) and found[0] < found[1] < math.inf):
        raise click.BadParameter(f"{value!r} is no range; write such as 0:1 or -1:1", ctx, param)
    return found


def paths(command: F) -> F:
    """Add PATH... and its alias."""
    argument = click.argument("paths", nargs=-1, metavar="PATH...")
    alias = click.option("--data-dir", "data_dirs", multiple=True, metavar="PATH", help="The same as PATH.")
    return argument(alias(command))


def reading(command: F) -> F:
    """Add how the runs are read."""
    for option in (
        click.option(
            "--follow-symlinks",
            is_flag=True,
            help="Follow links that lead out of PATH, as clusters that link runs need.",
        ),
        click.option("--index-dir", metavar="DIR", help="Where the index lies. Default: the user's cache directory."),
        click.option(
            "--format",
            callback=format_of,
            metavar="NAME",
            help="Read PATH as this format, whatever its contents say: native, telescope, tinker, prime_rl, "
            "prime_rl_traces, relax, rl_logging_board or generic.",
        ),
        click.option(
            "--map",
            "fields",
            callback=fields_of,
            metavar="FILE",
            help='For rows with unusual keys: a TOML file of lines such as  reward = "grade.total".',
        ),
        click.option(
            "--reward-key",
            default="",
            metavar="NAME",
            help="Take this sample metric, or this part of a reward that is an object, for the reward.",
        ),
        click.option(
            "--reward-range", callback=range_of, metavar="LO:HI", help="The lowest and highest reward there can be."
        ),
    ):
        command = option(command)
    return command


def one_run(command: F) -> F:
    """Add `--run`."""
    return click.option("--run", "run_id", metavar="ID", help="Only this run; `rolloupe ls PATH` has the ids.")(command)


def place_of(
    paths: Sequence[str], data_dirs: Sequence[str], index_dir: str | None, format: str | None, **reading: Any
) -> RunPaths:
    """The place that the options name. A usage error where no path was given."""
    if not (paths or data_dirs):
        raise click.UsageError(
            "Missing argument 'PATH...'. Name a folder or a file of a run.", click.get_current_context()
        )
    if "" in (*paths, *data_dirs, index_dir):
        raise click.UsageError("An empty PATH or --index-dir names nothing.", click.get_current_context())
    return RunPaths((*paths, *data_dirs), index_dir, Reading(format=format or "", **reading))


@contextmanager
def opened(
    place: RunPaths,
    *,
    run_id: str | None = None,
    reads_index: bool = True,
    texts: bool = False,
    processes: int | None = None,
    budget_bytes: int | None = None,
) -> "Iterator[Runs]":
    """Open the runs of a place and wait, with a progress bar if it takes long, until they are indexed.

    Raises `IncompleteIndex` once the command has answered, where parts of the index are missing: of the run `run_id`,
    of all where that is None; with `texts`, parts without texts are missing, too. Without `reads_index`, as for a
    command that answers from the run's files alone, only where it found nothing.
    """
    from rolloupe import api

    with progress.looking():
        runs = api.runs_at(
            [Path(path) for path in place.paths],
            index_dir=place.index_dir,
            reading=place.reading,
            processes=processes,
            budget_bytes=budget_bytes,
        )
    with runs:
        progress.wait(runs, texts=texts)
        try:
            check_reward_key(runs, place.reading.reward_key)
            yield runs
        except (BadQuery, NotFound) as error:
            if isinstance(error, NotFound) or error.column is not None:  # it may be in a part that is missing
                require_complete(runs, run_id, texts=texts, before=f"{error}. ")
            raise
        if reads_index:
            require_complete(runs, run_id, texts=texts)


def check_reward_key(runs: "Runs", key: str) -> None:
    """Refuse a reward key that no run knows: all rewards would be gone, in silence."""
    if not (key and len(runs)):
        return
    known = {name for run in runs for name in (*run.columns(), *run.value_names()[0])}
    if known.isdisjoint((key, f"reward.{key}")):
        raise BadQuery(
            f"no run has a sample metric {key!r} to take for the reward; there are: {', '.join(sorted(known)[:40])}",
            column=key,
        )


def require_complete(runs: "Runs", run_id: str | None, *, texts: bool = False, before: str = "") -> None:
    """Raise `IncompleteIndex`, with the parts that are missing, where these runs could not be indexed whole."""
    missing = [
        f"  {run.id}, {one.source}, {one.reason.partition('. Next:')[0]}"
        for run in runs
        if run_id in (None, run.id)
        for one in run.failures(texts=texts)
    ]
    if missing:
        more = [f"  and {len(missing) - LISTED} more"] if len(missing) > LISTED else []
        count = f"{len(missing)} part{'' if len(missing) == 1 else 's'} of the index could not be made"
        is_slower = texts and not any(run.failures() for run in runs if run_id in (None, run.id))
        loss = "searches are slower without their texts" if is_slower else "answers lack what they hold"
        is_disk = any("could not be written" in one for one in missing)
        cause = (
            "mend the cause, such as a full disk, or name another folder with --index-dir" if is_disk else "mend that"
        )
        raise IncompleteIndex(
            "\n".join([
                f"{before}{count} at {runs.index_dir}; {loss}:", *missing[:LISTED], *more,
                f"Next: {cause}; then try again",
            ])
        )  # fmt: skip


def chosen(runs: "Runs", run_id: str | None) -> "list[Run]":
    """The runs to work on: all, or the one that `--run` names. Raises `NotFound`."""
    return list(runs.runs) if run_id is None else [runs.run(run_id)]


def explain_nothing(runs: "Runs") -> None:
    """Say on standard error why no run was found."""
    complain("No run was found. `rolloupe doctor PATH` says more.")
    for note in runs.notes[:5]:
        complain(f"  {note.path}: {note.reason}")
