"""`rolloupe convert`: write a run in another layout."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from rolloupe.cli import progress
from rolloupe.cli.options import StepRange, command, steps_of, with_paths
from rolloupe.cli.runs import only, opened
from rolloupe.cli.terminal import OK, counted, print_table, tell, tell_json
from rolloupe.questions import option
from rolloupe.record.writers import WRITERS
from rolloupe.server.settings import RunPaths

SPLITS = 6
"""How many splits are listed with their steps."""

SHOWN = 40
"""How many losses are listed; the others are counted."""


@dataclass(frozen=True, kw_only=True)
class ConvertOptions:
    """What to convert, and where to."""

    source: str
    target: str
    layout: str
    splits: tuple[str, ...] = option(
        (), "Only this split; eval stands for every eval/... Repeatable.", flags=("--split",)
    )
    steps: StepRange = option(None, "Only these steps, both ends included; or one step.", "A:B", convert=steps_of)
    as_json: bool = option(False, "Print the result as a JSON object.", flags=("--json",))
    overwrite: bool = option(False, "Write into DST even if it is not empty; files of other names stay.")


PLACES = (
    click.Argument(["source"], metavar="SRC"),
    click.Argument(["target"], metavar="DST"),
    click.Option(
        ["--to", "layout"],
        required=True,
        type=click.Choice([*WRITERS]),
        metavar="FORMAT",
        help=f"The layout to write: {', '.join(WRITERS)}.",
    ),
)


@command(arguments=PLACES)
def convert(asked: ConvertOptions, place: RunPaths) -> int:
    """Write a run in another layout.

    SRC is a folder or a file with one run, or with several runs; then --run names one. The command makes the folder
    DST, which must be empty and must lie apart from SRC; SRC is only read. At the end, the command lists what the
    layout cannot hold and how many samples that affects. An interrupted conversion leaves nothing behind.

    With --json, prints an object with run, layout, target, samples, written (how many samples the layout could hold),
    steps (each split counts separately) and left (a count for each thing that the layout cannot hold).

    Examples:
      rolloupe convert RUN_DIR relax_run --to relax  # A whole run, for Relax's viewer
      rolloupe convert RUN_DIR board --to rl_logging_board --split train --steps 0:99  # A part of it
      rolloupe convert RUN_DIR out --to native --json | jq .left  # What the layout cannot hold, for a script
      rolloupe convert RUNS_DIR out --to relax --run poems  # One of several runs
    """
    if not asked.target:
        raise click.UsageError("An empty DST names nothing.")
    from rolloupe.export import Selection, check
    from rolloupe.export import convert as write

    source, target, layout = Path(asked.source), Path(asked.target), asked.layout
    check(target, [source], force=asked.overwrite)
    with opened(with_paths(place, [asked.source])) as runs:
        run = only(runs)
        with progress.counting("Converting") as advanced:
            selection = Selection(asked.splits, asked.steps or (None, None))
            done = write(run, target, layout, selection=selection, force=asked.overwrite, advanced=advanced)
    if asked.as_json:
        facts = {
            "run": run.id, "layout": layout, "target": str(target.absolute()),
            "samples": done.samples, "written": done.written, "steps": done.steps, "left": done.left,
        }  # fmt: skip
        tell_json(facts, indent=2)
        return OK
    part = "" if done.written == done.samples else f"{done.written:,} of "
    listed = [f"{count:,} of {split}" for split, count in done.splits.items()]
    more = [f"{len(listed) - SPLITS} more splits"] if len(listed) > SPLITS else []
    steps = counted(sum(done.splits.values()), "step")
    by_split = f" ({', '.join(listed[:SPLITS] + more)})" if len(listed) > 1 else ""
    tell(f"{part}{counted(done.samples, 'sample')} of {steps}{by_split}, as {layout}.")
    _tell_of_losses(layout, done.left)
    return OK


def _tell_of_losses(layout: str, losses: Mapping[str, int]) -> None:
    if not losses:
        tell(f"Nothing was left out: {layout} holds all of it.")
        return
    from rolloupe.export.convert import described

    tell(f"What {layout} cannot hold, or holds in another form:")
    rows = [list(described(word, count)) for word, count in losses.items()]
    print_table(("of", "what"), rows[:SHOWN])
    if len(rows) > SHOWN:
        tell(f"and {len(rows) - SHOWN} more.")
