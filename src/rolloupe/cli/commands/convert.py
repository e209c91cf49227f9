"""`rolloupe convert`: write a run in another layout."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from rolloupe.cli import options, progress
from rolloupe.cli.frame import NOTHING, OK, Command, Example
from rolloupe.cli.output import dumps
from rolloupe.cli.terminal import print_table, tell
from rolloupe.record.writers.base import WRITERS

EXAMPLES = (
    Example("rolloupe convert RUN_DIR relax_run --to relax", "A whole run, for Relax's viewer"),
    Example("rolloupe convert RUN_DIR board --to rl_logging_board --split train --steps 0:99", "A part of it"),
    Example("rolloupe convert RUN_DIR out --to native --json | jq .left", "What the layout cannot hold, for a script"),
    Example("rolloupe convert RUNS_DIR out --to relax --run poems", "One of several runs"),
)

SPLITS = 6
"""How many splits are listed with their steps."""

SHOWN = 40
"""How many losses are listed; the others are counted."""


def layout_of(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """Check the name of a layout."""
    if value not in WRITERS:
        raise click.BadParameter(f"{value!r} cannot be written. There are: {', '.join(WRITERS)}", ctx, param)
    return value


@click.command(cls=Command, examples=EXAMPLES)
@click.argument("source", metavar="SRC")
@click.argument("target", metavar="DST")
@click.option(
    "--to", "layout", required=True, callback=layout_of, metavar="FORMAT",
    help=f"The layout to write: {', '.join(WRITERS)}.",
)  # fmt: skip
@options.one_run
@click.option(
    "--split",
    "splits",
    multiple=True,
    metavar="NAME",
    help="Only this split; eval stands for every eval/... Repeatable.",
)
@click.option(
    "--steps", callback=options.steps_of, metavar="A:B", help="Only these steps, both ends included; or one step."
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as a JSON object.")
@click.option("--overwrite", is_flag=True, help="Write into DST even if it is not empty; files of other names stay.")
@click.option("--force", "overwrite", is_flag=True, hidden=True, help="The old name of --overwrite.")
@options.reading
def convert(
    source: str,
    target: str,
    layout: str,
    run_id: str | None,
    splits: tuple[str, ...],
    steps: tuple[int | None, int | None] | None,
    as_json: bool,
    overwrite: bool,
    **reading: Any,
) -> int:
    """Write a run in another layout.

    SRC is a folder or a file with one run, or with several runs; then --run names one. The command makes the folder
    DST, which must be empty and must lie apart from SRC; SRC is only read. At the end, the command lists what the
    layout cannot hold and how many samples that affects. An interrupted conversion leaves nothing behind.

    With --json, prints an object with run, layout, target, samples, written (how many samples the layout could hold),
    steps (each split counts separately) and left (a count for each thing that the layout cannot hold).
    """
    if not target:
        raise click.UsageError("An empty DST names nothing.", click.get_current_context())
    from rolloupe.export import check
    from rolloupe.export import convert as write

    check(Path(target), [Path(source)], force=overwrite)
    with options.opened(options.place_of((source,), (), **reading), run_id=run_id) as runs:
        run = options.only(runs, run_id)
        if run is None:
            return NOTHING
        with progress.counting("Converting", "samples") as advanced:
            done = write(
                run, Path(target), layout, paths=(Path(source),), splits=splits,
                steps=steps or (None, None), force=overwrite, advanced=advanced,
            )  # fmt: skip
    if as_json:
        tell(
            dumps(
                {
                    "run": run.id, "layout": layout, "target": str(Path(target).absolute()),
                    "samples": done.samples, "written": done.written, "steps": done.steps, "left": done.left,
                },
                indent=2,
            )
        )  # fmt: skip
        return OK
    part = "" if done.written == done.samples else f"{done.written:,} of "
    tell(f"{part}{_several(done.samples, 'sample')} of {_steps(done.splits)}, as {layout}.")
    _tell_of_losses(layout, done.left)
    return OK


def _several(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def _steps(splits: Mapping[str, int]) -> str:
    """Return the number of steps, by split if there are several."""
    whole = _several(sum(splits.values()), "step")
    listed = [f"{count:,} of {split}" for split, count in splits.items()]
    more = [f"{len(listed) - SPLITS} more splits"] if len(listed) > SPLITS else []
    return f"{whole} ({', '.join(listed[:SPLITS] + more)})" if len(listed) > 1 else whole


def _tell_of_losses(layout: str, losses: dict[str, int]) -> None:
    if not losses:
        tell(f"Nothing was left out: {layout} holds all of it.")
        return
    from rolloupe.export.convert import described

    tell(f"What {layout} cannot hold, or holds in another form:")
    rows = [list(described(word, count)) for word, count in losses.items()]
    print_table(("of", "what"), rows[:SHOWN])
    if len(rows) > SHOWN:
        tell(f"and {len(rows) - SHOWN} more.")
