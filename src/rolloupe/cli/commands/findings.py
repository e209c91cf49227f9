"""`rolloupe findings`: list what the reward pays for."""

import shlex
from typing import TYPE_CHECKING, Any

import click

from rolloupe.cli import options
from rolloupe.cli.commands.query import steps_of
from rolloupe.cli.frame import NOTHING, OK, Command, Example
from rolloupe.cli.json_output import dumps
from rolloupe.cli.terminal import complain, line, output, tell

if TYPE_CHECKING:
    from rolloupe.api import Run
    from rolloupe.insight.findings import Finding, RunFindings

EXAMPLES = (
    Example("rolloupe findings RUN_DIR", "What does the reward pay for, and does correctness follow?"),
    Example("rolloupe findings RUN_DIR --steps 100:200 --env math", "In some steps, and in one environment"),
    Example("rolloupe findings RUN_DIR --correct exact_match", "The metric exact_match says what is correct"),
    Example("rolloupe findings RUN_DIR --json | jq -r 'select(.class == \"suspect\") | .text'", "For a program"),
)

STYLES = {"suspect": "bold red", "unverified": "bold yellow", "earned": "bold green"}


@click.command(cls=Command, examples=EXAMPLES)
@options.paths
@options.one_run
@click.option("--split", metavar="NAME", help="One split. Default: train, or the first one.")
@click.option("--steps", callback=steps_of, metavar="A:B", help="Only these steps, both ends included; or one step.")
@click.option("--env", metavar="NAME", help="Only samples of this environment.")
@click.option("--correct", default="", metavar="NAME", help="The sample metric that says whether an answer is correct.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on each line.")
@options.reading
def findings(
    run_id: str | None,
    split: str | None,
    steps: tuple[int | None, int | None] | None,
    env: str | None,
    correct: str,
    as_json: bool,
    **place: Any,
) -> int:
    """List what the reward of a run pays for, with the samples that show it.

    Each finding is a phrase or a behaviour that goes with a better reward than that of siblings, the samples of the
    same group: suspect (it is on the rise, and correctness does not follow), unverified (the same, but nothing in the
    run says what is correct), earned (correctness goes with it), watch (not rising) or drift (rising, but not paid).
    They are evidence, not verdicts: read the samples. Correctness is a sample metric called correct, acc, accuracy,
    solved, success or pass, or the one that --correct names.

    With --json, each object has run, text, class, phrase or behaviour, effect (reward over siblings), z, correctness
    (the effect on it, or null), first and last (the share of the samples that have it, early and late), rise,
    prevalence (by steps), samples (pairs of siblings, the earliest case, a counterexample), title, and what lists the
    samples: where (a filter) or pattern (for `rolloupe search --regex`). What was scanned is printed to standard error.
    """
    with options.opened(options.place_of(**place), run_id=run_id, texts=True) as runs:
        if not len(runs):
            options.explain_nothing(runs)
            return NOTHING
        chosen = options.chosen(runs, run_id)
        for run in chosen:
            found = run.findings(split=split, steps=steps, env=env, correct=correct)
            _print_json(run, found) if as_json else _print(run, found, names_run=len(chosen) > 1)
        return OK


def _print_json(run: "Run", found: "RunFindings") -> None:
    import msgspec

    complain(found.note)
    for one in found.findings:
        tell(dumps({"run": run.id, **msgspec.to_builtins(one)}))


def _print(run: "Run", found: "RunFindings", *, names_run: bool) -> None:
    tell(f"{run.id}: {found.note}" if names_run else found.note)
    for one in found.findings:
        _print_finding(run, one)


def _print_finding(run: "Run", one: "Finding") -> None:
    console = output()
    console.print(line(f"{one.kind} ", STYLES.get(one.kind, "bold")) + line(one.text, "bold"), soft_wrap=True)
    numbers = f"  z {one.z:.1f}, effect {one.effect:+.3g}"
    of_correctness = "" if one.correctness is None else f", on correctness {one.correctness:+.3g}"
    console.print(line(numbers + of_correctness), soft_wrap=True)
    for pair in one.samples.pairs[:1]:
        for sample in pair:
            console.print(line(f"  {shlex.join(['rolloupe', 'show', run.path, sample])}", "dim"), soft_wrap=True)
