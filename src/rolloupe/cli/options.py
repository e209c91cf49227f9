"""The options that commands share, and how a command opens its runs."""

import math
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from rolloupe.cli import progress
from rolloupe.cli.terminal import complain
from rolloupe.errors import BadQuery, IncompleteIndex, NotFound, NotRecognised, RolloupeError
from rolloupe.formats import BUILT_IN
from rolloupe.model import AS_FOUND, Reading

if TYPE_CHECKING:
    from rolloupe.api import Run, Runs
    from rolloupe.formats.discovery import Note

_FORMATS = ", ".join(BUILT_IN)

F = TypeVar("F", bound=Callable[..., Any])


class RunPaths(NamedTuple):
    """The runs of a command, and how to read them."""

    paths: tuple[str, ...]
    index_dir: str | None = None
    reading: Reading = AS_FOUND


def format_of(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Check the name of a format; imports the formats only if one is named."""
    if value is None:
        return None
    from rolloupe.formats import by_name

    try:
        return by_name(value).name
    except NotRecognised as error:
        raise click.BadParameter(str(error), ctx, param) from None


def fields_of(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[tuple[str, str], ...]:
    """Read the pairs or the file of `--map`."""
    if value is None:
        return ()
    from rolloupe.formats import fields_in

    try:
        return fields_in(value)
    except RolloupeError as error:
        raise click.BadParameter(str(error), ctx, param) from None


SHUT = "could not be read"
"""What notes say of files and folders that may not be read, or not at this moment."""

LISTED = 10
"""How many missing parts of the index are listed; the rest are counted."""

SIZE = re.compile(r"(?P<number>\d{1,9}(?:\.\d{1,9})?)\s*(?P<unit>[kmgt]?)(?P<binary>i?)b?", re.IGNORECASE)


def size_of(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """Read a number of bytes: `500MB`, `20GiB`, `1000000`."""
    if value is None:
        return None
    found = SIZE.fullmatch(value)
    if found is None:
        raise click.BadParameter(f"{value!r} is not a size; examples: 500MB, 20GiB", ctx, param)
    base = 1024 if found["binary"] else 1000
    return int(float(found["number"]) * base ** " kmgt".index(found["unit"].lower() or " "))


def added(*some: Callable[[Any], Any]) -> Callable[[F], F]:
    """Add several options to a command, in the order in which its help lists them."""

    def decorate(command: F) -> F:
        for option in reversed(some):
            command = option(command)
        return command

    return decorate


def cache(memory_mb: int, entries: int) -> Callable[[F], F]:
    """Add the options that bound the cached answers of a server, with these defaults."""
    count = click.IntRange(0, 2**31)
    return added(
        click.option(
            "--cache-memory", "cache_memory_mb", type=count, default=memory_mb, show_default=True, metavar="MB",
            help="Memory for cached answers.",
        ),
        click.option(
            "--cache-entries", type=count, default=entries, show_default=True, metavar="N",
            help="Maximum number of cached answers.",
        ),
    )  # fmt: skip


def budget(command: F) -> F:
    """Add `--index-budget`."""
    return click.option(
        "--index-budget",
        "budget_bytes",
        callback=size_of,
        metavar="SIZE",
        help="Maximum index size, such as 20GB; the texts of the oldest steps go first. Default: no limit.",
    )(command)


def state(command: F) -> F:
    """Add `--state-dir`."""
    return click.option(
        "--state-dir",
        envvar="ROLLOUPE_STATE_DIR",
        show_envvar=True,
        metavar="DIR",
        help="Folder for bookmarks, notes, names and colours. Default: the user's data directory.",
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
        raise click.BadParameter(f"{value!r} is not a range; examples: 0:1, -1:1", ctx, param)
    return found


def steps_of(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int | None, int | None] | None:
    """Read one step, `12`, or an inclusive range with one or both ends: `3:7`, `3:`, `:7`."""
    if value is None:
        return None
    low, colon, high = value.partition(":")
    try:
        first = int(low) if low or not colon else None
        last = first if not colon else int(high) if high else None
    except ValueError:
        raise click.BadParameter(
            f"{value!r} is neither a step nor a range of steps; examples: 12, 3:7, 3:, :7", ctx, param
        ) from None
    if first is not None and last is not None and first > last:
        raise click.BadParameter(f"the range {value!r} is empty; write {last}:{first}", ctx, param)
    return first, last


def paths(command: F) -> F:
    """Add PATH... and its alias."""
    return click.argument("paths", nargs=-1, metavar="PATH...")(data_dirs(command))


def data_dirs(command: F) -> F:
    """Add `--data-dir`."""
    return click.option("--data-dir", "data_dirs", multiple=True, metavar="PATH", help="The same as PATH.")(command)


def reading(command: F) -> F:
    """Add the options of reading runs."""
    for option in (
        click.option(
            "--follow-symlinks",
            is_flag=True,
            help="Follow links that lead out of PATH, for clusters that link runs.",
        ),
        click.option(
            "--anonymous",
            is_flag=True,
            expose_value=False,
            callback=lambda _ctx, _param, value: set_in_environment("ROLLOUPE_ANONYMOUS", "1" if value else ""),
            help="For public buckets: send requests without credentials.",
        ),
        click.option(
            "--endpoint",
            default="",
            metavar="URL",
            expose_value=False,
            callback=lambda _ctx, _param, value: set_in_environment("ROLLOUPE_ENDPOINT", value),
            help="Address of the object store of another provider, for s3://, gs:// and az://.",
        ),
        click.option(
            "--index-dir",
            metavar="DIR",
            help="Folder for the index, or an address such as s3://bucket/index, where many share it. Default: the "
            "user's cache directory.",
        ),
        click.option(
            "--format",
            callback=format_of,
            metavar="NAME",
            help=f"Read PATH as this format, whatever its contents: {_FORMATS}, or one of an installed package.",
        ),
        click.option(
            "--map",
            "fields",
            callback=fields_of,
            metavar="PAIRS|FILE",
            help="For rows with unusual keys: response=reply.text,reward=grade, or a TOML file of such lines. "
            "response=a+b,reward=1+0 makes two samples of a row.",
        ),
        click.option(
            "--group-by",
            default="",
            metavar="COLUMN[,...]",
            help="Samples of a step with the same value of this key are a group, instead of what the format finds. "
            "Several keys have commas between; prompt and file, for the file's name, need no key.",
        ),
        click.option(
            "--reward-key",
            default="",
            metavar="NAME",
            help="Use this sample metric, or this part of a reward object, as the reward.",
        ),
        click.option(
            "--download-tokenizer",
            is_flag=True,
            help="Fetch a tokenizer that is not on this machine from the Hugging Face hub: its data, never code.",
        ),
        click.option(
            "--tokenizer",
            default="",
            metavar="PATH|NAME",
            help="Decode token ids with this: a file or folder of a tokenizer, or the name of a model in the local "
            "Hugging Face cache. Default: what the run holds or names.",
        ),
        click.option(
            "--metrics",
            multiple=True,
            metavar="PATH",
            help="More curves: of TensorBoard, W&B, SwanLab, trackio or MLflow, CSV or JSON lines. Repeatable. "
            "Those in the folder of a run are found by themselves. Of several runs, a file counts for the one whose "
            "name it or its folder has.",
        ),
        click.option(
            "--metrics-step",
            default="",
            metavar="NAME",
            help="The metric that holds the step in such files; `tracker` is the tracker's own count. Default: what "
            "looks like the trainer's step.",
        ),
        click.option(
            "--reward-range", callback=range_of, metavar="LO:HI", help="The lowest and the highest possible reward."
        ),
    ):
        command = option(command)
    return command


def set_in_environment(name: str, value: str) -> None:
    """Set what the storage and the processes that index read from the environment, if a person gave it."""
    if value:
        os.environ[name] = value


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
    state_dir: Path | None = None,
    shard: tuple[int, int] | None = None,
    on: str | None = None,
) -> "Iterator[Runs]":
    """Open the runs of a place, or the one that `--run` names, and wait, with a progress bar, until they are indexed.

    Raises `NotFound` if there are others than `run_id` alone. Raises `IncompleteIndex` after the command has answered
    if parts of the index are missing; with `texts`, parts without texts count, too. Commands without
    `reads_index` answer from the run's files alone; for them it raises only if they found nothing.
    """
    from rolloupe import api
    from rolloupe.index.execution.processes import keep_pandas_out
    from rolloupe.storage import notices

    keep_pandas_out()
    notices.listen(complain)
    with progress.looking():
        runs = api.runs_at(
            [Path(path) for path in place.paths],
            index_dir=place.index_dir,
            reading=place.reading,
            processes=processes,
            budget_bytes=budget_bytes,
            state_dir=state_dir or os.environ.get("ROLLOUPE_STATE_DIR"),
            only=run_id,
            shard=shard,
            on=on,
        )
    with runs:
        if reads_index:
            progress.wait(runs, texts=texts)
        try:
            check_reward_key(runs, place.reading.reward_key)
            for run in chosen(runs, run_id) if place.reading.metrics else ():
                complain_of_curves(run)
            yield runs
        except (BadQuery, NotFound) as error:
            if isinstance(error, NotFound) or error.column is not None:  # it may be in a missing part
                require_complete(runs, run_id, texts=texts, before=f"{error}. ")
            raise
        if reads_index:
            require_complete(runs, run_id, texts=texts)


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


def complain_of_curves(run: "Run") -> None:
    """Say what was left out of the files that `--metrics` names, and why."""
    for one in run.curve_sources():
        if one.is_named and one.note:
            complain(f"{one.path}: {one.note}")


def require_complete(runs: "Runs", run_id: str | None, *, texts: bool = False, before: str = "") -> None:
    """Raise `IncompleteIndex`, which lists the missing parts, if these runs could not be indexed completely."""
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
        loss = "answers lack their contents"
        if is_slower:
            loss = "searches are slower without their texts, and derived metrics lack their values"
        is_disk = any("could not be written" in one for one in missing)
        cause = "fix the cause, such as a full disk, or name another folder with --index-dir" if is_disk else "fix it"
        raise IncompleteIndex(
            "\n".join([
                f"{before}{count} at {runs.index_dir}; {loss}:", *missing[:LISTED], *more,
                f"Next: {cause}; then try again",
            ])
        )  # fmt: skip


def chosen(runs: "Runs", run_id: str | None) -> "list[Run]":
    """Return the runs to work on: all, or the one that `--run` names. Raises `NotFound`."""
    return list(runs.runs) if run_id is None else [runs.run(run_id)]


def only(runs: "Runs", run_id: str | None, *, reads_index: bool = True) -> "Run | None":
    """Return the run to work on, whose index must be complete if it is read. Without one, print why and return None.

    Raises `NotFound` if there are several, and `IncompleteIndex`.
    """
    among = chosen(runs, run_id)
    if not among:
        explain_nothing(runs)
        return None
    if len(among) > 1:
        names = ", ".join(run.id for run in among[:20])
        raise NotFound(f"{len(among)} runs are there: choose one with --run; they are {names}")
    if reads_index:
        require_complete(runs, run_id)
    return among[0]


def explain_nothing(runs: "Runs") -> None:
    """Explain on standard error why no run was found."""
    complain("No run was found. `rolloupe doctor PATH` says more.")
    _complain_of(runs.notes)


def name_shut(runs: "Runs") -> None:
    """Name on standard error what was not looked at, or could not be read, beside the runs that were found."""
    _complain_of([note for note in runs.notes if note.is_late])
    shut = [note for note in runs.notes if SHUT in note.reason and not note.is_late]
    if shut:
        places = "1 place" if len(shut) == 1 else f"{len(shut):,} places"
        complain(f"{places} could not be read. `rolloupe doctor PATH` says more.")
        _complain_of(shut)


def _complain_of(notes: "Sequence[Note]") -> None:
    for note in sorted(notes, key=lambda note: not note.is_late)[:5]:
        complain(f"  {note.path}: {note.reason}")
