"""The sample that a command line names: `PATH... ID`."""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from rolloupe.cli import options
from rolloupe.errors import NotFound

if TYPE_CHECKING:
    from rolloupe.api import Run, Runs

NUMBERED = re.compile(r"(?P<split>[^#]+)/(?P<step>-?\d{1,18})#(?P<number>\d{1,18})", re.DOTALL)
"""A sample by its number in its step; ids escape `#` as %23."""


F = TypeVar("F", bound=Callable[..., Any])


def sample(command: F) -> F:
    """Add `PATH... ID` as `words`, and the alias of PATH."""
    argument = click.argument("words", nargs=-1, metavar="PATH... ID")
    return argument(options.data_dirs(command))


def paths_and_id(words: Sequence[str], data_dirs: Sequence[str]) -> tuple[list[str], str]:
    """Return the paths and the id. A usage error if one is missing."""
    if not words:
        raise click.UsageError("Missing argument 'ID'. `rolloupe query PATH` has the ids.", click.get_current_context())
    *paths, sample_id = words
    if not (paths or data_dirs):
        raise click.UsageError(
            f"Missing argument 'ID'. `rolloupe query {sample_id}` has the ids.", click.get_current_context()
        )
    return paths, sample_id


def holding(runs: "Runs", run_id: str | None, sample_id: str) -> "tuple[Run, str]":
    """Return the run that has the sample, and its id. Raises `NotFound` if no run has it, or several."""
    among = options.chosen(runs, run_id)
    if not among:
        options.explain_nothing(runs)
    if numbered := NUMBERED.fullmatch(sample_id):
        found = [(run, key) for run in among if (key := _by_number(run, numbered)) is not None]
    else:
        found = [(run, sample_id) for run in among if len(among) == 1 or run.has(sample_id)]
    if len(found) == 1:
        return found[0]
    holding = [run for run, _ in found]
    names = ", ".join(run.id for run in (holding or among)[:20]) or "none"
    if holding:
        raise NotFound(f"several runs have a sample {sample_id!r}; choose one with --run: {names}")
    raise NotFound(f"no run has a sample {sample_id!r}; looked in: {names}")


def _by_number(run: "Run", place: re.Match[str]) -> str | None:
    """Return the id of a sample by its number in its step; None if the run has no such step or sample."""
    try:
        samples = run.samples(
            split=place["split"], step=int(place["step"]), where=f"number = {place['number']}", limit=1
        )
        return next((str(item.key) for item in samples), None)
    except NotFound:
        return None
