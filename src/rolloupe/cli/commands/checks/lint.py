"""`rolloupe lint`: list what is wrong with the samples of a run."""

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
    from rolloupe.insight.lint import BrokenRule, RunLint

EXAMPLES = (
    Example("rolloupe lint RUN_DIR", "Is something wrong with these samples?"),
    Example("rolloupe lint RUN_DIR --steps 100:200 --split train", "In some steps of one split"),
    Example("rolloupe lint RUN_DIR --json | jq -r 'select(.certain) | .text'", "For a program"),
    Example("rolloupe lint --rules", "What each rule looks for"),
)


@click.command(cls=Command, examples=EXAMPLES)
@options.paths
@options.one_run
@click.option("--split", metavar="NAME", help="One split. Default: all.")
@click.option("--steps", callback=steps_of, metavar="A:B", help="Only these steps, both ends included; or one step.")
@click.option("--rules", "lists_rules", is_flag=True, help="Only list the rules, with what each looks for.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on each line.")
@options.reading
def lint(
    run_id: str | None,
    split: str | None,
    steps: tuple[int | None, int | None] | None,
    lists_rules: bool,
    as_json: bool,
    **place: Any,
) -> int:
    """List what is wrong with the samples of a run, then what is worth a look, with samples that show it.

    A rule is certain if it needs no threshold, such as an advantage that is NaN: the exit code is 1 if one is broken, 0
    otherwise. Rules that need the arrays or the texts of samples read some of them whole, spread evenly over the steps.
    Rules that could not be checked are listed with the reason. `rolloupe check` looks at curves instead.

    With --json, each object has run, rule, certain, text, count (how many samples are known to break it) and samples
    (the ids of some); one for a rule that could not be checked has run, rule and unchecked, the reason.
    """
    if lists_rules:
        _print_rules()
        return OK
    with options.opened(options.place_of(**place), run_id=run_id, texts=True) as runs:
        if not len(runs):
            options.explain_nothing(runs)
            return NOTHING
        chosen = options.chosen(runs, run_id)
        answers = [(run, run.lint(split=split, steps=steps)) for run in chosen]
        for run, answer in answers:
            _print_json(run, answer) if as_json else _print(run, answer, names_run=len(chosen) > 1)
        return NOTHING if any(answer.is_broken for _, answer in answers) else OK


def _print_rules() -> None:
    from rolloupe.insight.lint import LINT_RULES

    for rule in sorted(LINT_RULES.values(), key=lambda one: not one.is_certain):
        tell(f"{rule.name} ({'certain' if rule.is_certain else 'look'}): {rule.words}")


def _print_json(run: "Run", answer: "RunLint") -> None:
    for one in answer.broken:
        tell(dumps({
            "run": run.id, "rule": one.rule, "certain": one.is_certain, "text": one.text, "count": one.count,
            "samples": one.samples,
        }))  # fmt: skip
    for rule in answer.unchecked:
        tell(dumps({"run": run.id, "rule": rule.rule, "unchecked": rule.reason}))


def _print(run: "Run", answer: "RunLint", *, names_run: bool) -> None:
    for one in answer.broken:
        _print_rule(run, one, names_run=names_run)
    name = f"{run.id}: " if names_run else ""
    many = "rule" if len(answer.checked) == 1 else "rules"
    read = f", {answer.read:,} of them read whole, evenly over the steps," if answer.read < answer.samples else ""
    rules = f"{len(answer.checked)} {many}; {len(answer.broken)} broken"
    discarded = f", {answer.discarded:,} discarded ones included" if answer.discarded else ""
    comma = "," if discarded and not read else ""
    tell(
        f"{name}Checked {answer.samples:,} samples{discarded}{read}{comma} by {rules}."
        if answer.samples
        else f"{name}There is no sample in these steps."
    )
    for rule in answer.unchecked:
        complain(f"{name}Not checked: {rule.rule}, for {rule.reason}.")


def _print_rule(run: "Run", one: "BrokenRule", *, names_run: bool) -> None:
    console = output()
    word, style = ("certain ", "bold red") if one.is_certain else ("look ", "bold yellow")
    name = f"{run.id}: " if names_run else ""
    console.print(line(word, style) + line(f"{name}{one.text}", "bold") + line(f"  [{one.rule}]"), soft_wrap=True)
    for sample in one.samples[:3]:
        console.print(line(f"  {shlex.join(['rolloupe', 'show', run.path, sample])}", "dim"), soft_wrap=True)
