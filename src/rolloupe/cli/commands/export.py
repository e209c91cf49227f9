"""`rolloupe export html`: write samples with their tokens to one file that a browser opens."""

import sys
from typing import TYPE_CHECKING, Any

import click

from rolloupe.cli import options, progress
from rolloupe.cli.frame import NOTHING, OK, Command, Example
from rolloupe.cli.output import dumps
from rolloupe.cli.terminal import complain
from rolloupe.cli.terminal import tell as printed
from rolloupe.storage import own_place

if TYPE_CHECKING:
    from rolloupe.query import SampleQuery

LIMIT = 100
"""Samples in a report unless `--all-records`, `--worst` or `--record` says otherwise."""

EXAMPLES = (
    Example("rolloupe export html RUN_DIR -o report.html --step 12", "The first 100 samples of a step, to mail"),
    Example("rolloupe export html RUN_DIR -o worst.html --worst 20", "The 20 samples with the greatest KL at a token"),
    Example("rolloupe export html RUN_DIR -o low.html --worst 20 --by reward", "Those with the lowest reward"),
    Example("rolloupe export html rank_0.jsonl -o one.html --record 3", "One record of one file, counted from 0"),
    Example("rolloupe export html RUN_DIR -o folder/ --all-records --where 'reward < 0.1'", "Many, in several files"),
)


@click.group()
def export() -> None:
    """Write samples in a form that needs no Rolloupe to look at."""


@export.command(cls=Command, examples=EXAMPLES)
@options.paths
@click.option(
    "-o", "--output", required=True, metavar="FILE",
    help="The file to write; a name that ends in / is a folder, which large reports need; - is standard output.",
)  # fmt: skip
@options.one_run
@click.option("--split", metavar="NAME", help="One split; eval stands for every eval/... Default: all.")
@click.option("--step", "steps", callback=options.steps_of, metavar="N|A:B", help="One step, or an inclusive range.")
@click.option("--rank", type=click.IntRange(min=0), metavar="N", help="Only this rank, if the run has ranks.")
@click.option("--env", metavar="NAME", help="Only samples of this environment.")
@click.option("--where", default="", metavar="CONDITIONS", help="Such as 'reward < 0.1 and status = truncated'.")
@click.option(
    "--record", type=click.IntRange(min=0), metavar="N", help="Only sample number N of each step, from 0 in file order."
)
@click.option("--all-records", is_flag=True, help=f"All samples. Default: the first {LIMIT}.")
@click.option("--worst", type=click.IntRange(min=1), metavar="N", help="Only the N worst samples, the worst first.")
@click.option(
    "--by", default="max_kl", show_default=True, metavar="MEASURE",
    help="What --worst goes by: max_kl, mask_disagreement, or any column; of the reward the lowest are the worst.",
)  # fmt: skip
@click.option("--tokens/--no-tokens", default=True, help="Include the tokens with their numbers. Default: yes.")
@click.option(
    "--rule", "rules", multiple=True, metavar="NAME",
    help="Include the update of the tokens under this rule too, such as dapo; may be repeated. Default: the run's own.",
)  # fmt: skip
@click.option(
    "--findings/--no-findings", default=True,
    help="Begin with what the reward pays for, and the rules that samples break. Default: yes.",
)  # fmt: skip
@click.option("--title", default="", metavar="TEXT", help="The heading. Default: the name of the run.")
@click.option("--json", "as_json", is_flag=True, help="Print what was written as a JSON object.")
@options.reading
def html(
    output: str,
    run_id: str | None,
    split: str | None,
    steps: tuple[int | None, int | None] | None,
    rank: int | None,
    env: str | None,
    where: str,
    record: int | None,
    all_records: bool,
    worst: int | None,
    by: str,
    tokens: bool,
    rules: tuple[str, ...],
    findings: bool,
    title: str,
    as_json: bool,
    **place: Any,
) -> int:
    """Write samples with their tokens to one file of HTML.

    The file opens in any browser, from a disk or from a mail. It holds its script and asks no server for anything; what
    the model wrote is shown as text and never executed. It has a list of the samples with a filter box, their
    transcripts, and their tokens coloured by any series, or as the step pushed them. It prints well.

    Above the list is what `rolloupe findings`, `parts` and `lint` say of all steps of the split, with links to those of
    their samples that the file holds. --no-findings leaves it out, and does not wait for the index of texts.

    With --json, the object has run, files, samples, tokens and size_bytes. With -o -, it goes to standard error, as
    does every message.
    """
    tell = complain if output == "-" else printed
    conditions = [where] if where else []
    if rank is not None:
        conditions.append(f"rank = {rank}")
    if record is not None:
        conditions.append(f"number = {record}")
    if env is not None:
        conditions.append("env = '" + env.replace("'", "''") + "'")
    low, high = steps or (None, None)
    limit = None if all_records or worst is not None or record is not None else LIMIT
    if output.endswith("/"):
        own_place(output).mkdir(parents=True, exist_ok=True)
    with options.opened(options.place_of(**place), run_id=run_id) as runs:
        run = options.only(runs, run_id)
        if run is None:
            return NOTHING
        wanted = _query(split, low, high, conditions, limit)
        total = run.total(wanted)
        if not total:
            complain("No sample matches, so nothing was written.")
            return NOTHING
        with progress.counting("Writing", "samples") as advanced:
            done = run.report(
                sys.stdout.buffer if output == "-" else output,
                wanted,
                title=title,
                worst=worst,
                by=by,
                tokens=tokens,
                rules=rules,
                findings=findings,
                advanced=advanced,
            )
    if as_json:
        tell(
            dumps(
                {
                    "run": run.id, "files": [str(file.absolute()) for file in done.files], "samples": done.samples,
                    "tokens": done.tokens, "size_bytes": done.size_bytes,
                },
                indent=2,
            )
        )  # fmt: skip
        return OK
    size_mb, to = done.size_bytes / 1e6, "" if output == "-" else f": {done.files[0]}"
    tell(f"{done.samples:,} of {total:,} samples, {done.tokens:,} tokens, {size_mb:.1f} MB{to}")
    if worst is not None and done.samples < min(worst, total):
        tell(f"The other {total - done.samples:,} samples have no {by}, so they are not among the worst.")
    if limit is not None and done.samples < total:
        tell(f"These are the first {LIMIT}. Next: --all-records writes all, --worst 100 the worst.")
    return OK


def _query(
    split: str | None, low: int | None, high: int | None, conditions: list[str], limit: int | None
) -> "SampleQuery":
    from rolloupe.api.arguments import sample_query

    where = conditions[0] if len(conditions) == 1 else " and ".join(f"({one})" for one in conditions)
    return sample_query(split=split, steps=(low, high), where=where, limit=limit)
