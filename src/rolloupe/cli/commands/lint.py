"""`rolloupe lint`: list what is wrong with the samples of a run."""

import shlex
from typing import TYPE_CHECKING

import click

from rolloupe.cli.frame import NOTHING, OK, Example
from rolloupe.cli.questions import Answers, asks, print_json
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


def _list_rules(ctx: click.Context, _: click.Parameter, is_asked: bool) -> None:
    if is_asked and not ctx.resilient_parsing:
        from rolloupe.insight.lint import LINT_RULES

        for rule in sorted(LINT_RULES.values(), key=lambda rule: not rule.is_certain):
            tell(f"{rule.name} ({'certain' if rule.is_certain else 'look'}): {rule.words}")
        ctx.exit()


@asks("lint", examples=EXAMPLES)
@click.option(
    "--rules", is_flag=True, is_eager=True, expose_value=False, callback=_list_rules,
    help="Only list the rules, with what each looks for.",
)  # fmt: skip
def lint(answers: Answers) -> int:
    """List what is wrong with the samples of a run, then what is worth a look, with samples that show it.

    A rule is certain if it needs no threshold, such as an advantage that is NaN: the exit code is 1 if one is broken, 0
    otherwise. Rules that need the arrays or the texts of samples read some of them whole, spread evenly over the steps.
    Rules that could not be checked are listed with the reason. `rolloupe check` looks at curves instead.

    With --json, each object has run, rule, certain, text, count (how many samples are known to break it) and samples
    (the ids of some); one for a rule that could not be checked has run, rule and unchecked, the reason.
    """
    is_broken = False
    for run, found in answers.each:
        is_broken |= found.is_broken
        _print_json(run, found) if answers.as_json else _print(run, found, names_run=len(answers.runs) > 1)
    return NOTHING if is_broken else OK


def _print_json(run: "Run", answer: "RunLint") -> None:
    for broken in answer.broken:
        facts = {"rule": broken.rule, "certain": broken.is_certain, "text": broken.text, "count": broken.count}
        print_json(run, facts | {"samples": broken.samples})
    print_json(run, *({"rule": rule.rule, "unchecked": rule.reason} for rule in answer.unchecked))


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
