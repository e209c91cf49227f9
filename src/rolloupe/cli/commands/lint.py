"""`rolloupe lint`: list what is wrong with the samples of a run."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rolloupe.cli.options import listing
from rolloupe.cli.runs import Answers, asks, print_json
from rolloupe.cli.terminal import NOTHING, OK, counted, show_command, show_line, show_unchecked, tell
from rolloupe.questions import option

if TYPE_CHECKING:
    from rolloupe.api import Run
    from rolloupe.insight.lint import RunLint


def rule_lines() -> Iterator[str]:
    """Yield a line for each rule."""
    from rolloupe.insight.lint import LINT_RULES

    for rule in sorted(LINT_RULES.values(), key=lambda rule: not rule.is_certain):
        yield f"{rule.name} ({'certain' if rule.is_certain else 'look'}): {rule.words}"


@dataclass(frozen=True, kw_only=True)
class LintOptions:
    """What the command does beside the question."""

    rules: bool = option(False, "Only list the rules, with what each looks for.", **listing(rule_lines))


@asks("lint")
def lint(answers: Answers, asked: LintOptions) -> int:
    """List what is wrong with the samples of a run, then what is worth a look, with samples that show it.

    A rule is certain if it needs no threshold, such as an advantage that is NaN: the exit code is 1 if one is broken, 0
    otherwise. Rules that need the arrays or the texts of samples read some of them whole, spread evenly over the steps.
    Rules that could not be checked are listed with the reason. `rolloupe check` looks at curves instead.

    With --json, each object has run, rule, certain, text, count (how many samples are known to break it) and samples
    (the ids of some); one for a rule that could not be checked has run, rule and unchecked, the reason.

    Examples:
      rolloupe lint RUN_DIR  # Is something wrong with these samples?
      rolloupe lint RUN_DIR --steps 100:200 --split train  # In some steps of one split
      rolloupe lint RUN_DIR --json | jq -r 'select(.certain) | .text'  # For a program
      rolloupe lint --rules  # What each rule looks for
    """
    del asked  # lists rules, and ends
    is_broken = False
    for run, answer in answers.each:
        is_broken |= answer.is_broken
        if not answers.as_json:
            _print(run, answer, names_run=len(answers.runs) > 1)
            continue
        for rule in answer.broken:
            facts = {"rule": rule.rule, "certain": rule.is_certain, "text": rule.text, "count": rule.count}
            print_json(run, facts | {"samples": rule.samples})
        print_json(run, *({"rule": rule.rule, "unchecked": rule.reason} for rule in answer.unchecked))
    return NOTHING if is_broken else OK


def _print(run: "Run", answer: "RunLint", *, names_run: bool) -> None:
    name = f"{run.id}: " if names_run else ""
    for broken in answer.broken:
        kind = ("certain ", "bold red") if broken.is_certain else ("look ", "bold yellow")
        show_line(kind, (f"{name}{broken.text}", "bold"), f"  [{broken.rule}]")
        for sample in broken.samples[:3]:
            show_command("show", run.path, sample)
    if answer.samples:
        read = f", {answer.read:,} of them read whole, evenly over the steps," if answer.read < answer.samples else ""
        discarded = f", {answer.discarded:,} discarded ones included{'' if read else ','}" if answer.discarded else ""
        rules = f"{counted(len(answer.checked), 'rule')}; {len(answer.broken)} broken"
        left = f"; {len(answer.unchecked)} could not be checked{'.' if names_run else ':'}" if answer.unchecked else "."
        tell(f"{name}Checked {answer.samples:,} samples{discarded}{read} by {rules}{left}")
    else:
        tell(f"{name}There is no sample in these steps.")
    if not names_run:
        show_unchecked((rule.rule, rule.reason) for rule in answer.unchecked)
