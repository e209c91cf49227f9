"""The options that commands share, and how a command opens the runs they name."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from rolloupe.cli import progress
from rolloupe.cli.terminal import complain
from rolloupe.errors import NotRecognised

if TYPE_CHECKING:
    from rolloupe.api import Run, Runs

F = TypeVar("F", bound=Callable[..., Any])


class Place(NamedTuple):
    """Which runs a command is about, and how they are read."""

    paths: tuple[str, ...]
    format: str | None
    index_dir: str | None
    follow_symlinks: bool


def format_of(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Check the name of a format; the formats are imported only where one is named."""
    if value is None:
        return None
    from rolloupe.formats import by_name

    try:
        return by_name(value).name
    except NotRecognised as error:
        raise click.BadParameter(str(error), ctx, param) from None


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
            help="Read PATH as this format, whatever its contents say: relax, rl_logging_board or generic.",
        ),
    ):
        command = option(command)
    return command


def one_run(command: F) -> F:
    """Add `--run`."""
    return click.option("--run", "run_id", metavar="ID", help="Only this run; `rolloupe ls PATH` has the ids.")(command)


def place_of(
    paths: Sequence[str], data_dirs: Sequence[str], format: str | None, index_dir: str | None, follow_symlinks: bool
) -> Place:
    """The place that the options name. A usage error where no path was given."""
    if not (paths or data_dirs):
        raise click.UsageError(
            "Missing argument 'PATH...'. Name a folder or a file of a run.", click.get_current_context()
        )
    return Place((*paths, *data_dirs), format, index_dir, follow_symlinks)


@contextmanager
def opened(place: Place, *, wait: bool = True) -> "Iterator[Runs]":
    """Open the runs of a place and wait, with a progress bar if it takes long, until their numbers are indexed."""
    from rolloupe import api

    with progress.looking():
        runs = api.open(
            [Path(path) for path in place.paths],
            format=place.format,
            index_dir=place.index_dir,
            follow_symlinks=place.follow_symlinks,
        )
    with runs:
        if wait:
            progress.wait(runs)
        yield runs


def chosen(runs: "Runs", run_id: str | None) -> "list[Run]":
    """The runs to work on: all, or the one that `--run` names. Raises `NotFound`."""
    return list(runs.runs) if run_id is None else [runs.run(run_id)]


def explain_nothing(runs: "Runs") -> None:
    """Say on standard error why no run was found."""
    complain("No run was found. `rolloupe doctor PATH` says more.")
    for note in runs.notes[:5]:
        complain(f"  {note.path}: {note.reason}")
