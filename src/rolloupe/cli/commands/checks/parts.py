"""`rolloupe parts`: list what each part of the reward pays for."""

from typing import TYPE_CHECKING, Any

import click

from rolloupe.cli import options
from rolloupe.cli.commands.query import steps_of
from rolloupe.cli.frame import NOTHING, OK, Command, Example
from rolloupe.cli.json_output import dumps
from rolloupe.cli.terminal import complain, line, output, tell

if TYPE_CHECKING:
    from rolloupe.api import Run
    from rolloupe.insight.parts import RunParts

EXAMPLES = (
    Example("rolloupe parts RUN_DIR", "What does each part of the reward pay for?"),
    Example("rolloupe parts RUN_DIR --steps 100:200 --env math", "In some steps, and in one environment"),
    Example("rolloupe parts RUN_DIR --json | jq -c '[.name, .r2, .text]'", "For a program"),
)


@click.command(cls=Command, examples=EXAMPLES)
@options.paths
@options.one_run
@click.option("--split", metavar="NAME", help="One split. Default: train, or the first one.")
@click.option("--steps", callback=steps_of, metavar="A:B", help="Only these steps, both ends included; or one step.")
@click.option("--env", metavar="NAME", help="Only samples of this environment.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on each line.")
@options.reading
def parts(
    run_id: str | None,
    split: str | None,
    steps: tuple[int | None, int | None] | None,
    env: str | None,
    as_json: bool,
    **place: Any,
) -> int:
    """List what each part of the reward pays for, as a formula of phrases and behaviours.

    Parts are the sample metrics called reward.NAME; in a run without any, those that it declares with a range, or whose
    name ends with reward or says correctness. Each is fitted to the differences among siblings, the samples of the same
    group. R² is the share of them that the formula explains, in groups where it was not chosen.

    With --json, each object has run, name, text, terms (words, weight, share, phrase or behaviour, and what lists the
    samples: pattern for `rolloupe search --regex`, or where, a filter), r2 (null for a part that could not be fitted),
    spread (the standard deviation among siblings) and groups (where it varies). A note goes to standard error.
    """
    with options.opened(options.place_of(**place), run_id=run_id, texts=True) as runs:
        if not len(runs):
            options.explain_nothing(runs)
            return NOTHING
        chosen = options.chosen(runs, run_id)
        for run in chosen:
            found = run.parts(split=split, steps=steps, env=env)
            _print_json(run, found) if as_json else _print(run, found, names_run=len(chosen) > 1)
        return OK


def _print_json(run: "Run", found: "RunParts") -> None:
    import msgspec

    complain(found.note)
    for one in found.parts:
        tell(dumps({"run": run.id, **msgspec.to_builtins(one)}))


def _print(run: "Run", found: "RunParts", *, names_run: bool) -> None:
    tell(f"{run.id}: {found.note}" if names_run else found.note)
    for one in found.parts:
        output().print(line(one.text, "bold" if one.terms else ""), soft_wrap=True)
