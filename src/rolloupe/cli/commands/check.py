"""`rolloupe check`: list what looks wrong in the curves of a run."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from rolloupe.cli import terminal
from rolloupe.cli.options import JSON, command, listing
from rolloupe.cli.runs import opened
from rolloupe.questions import option
from rolloupe.server.settings import STATE_DIR, RunPaths

if TYPE_CHECKING:
    from rolloupe.api import Run, Runs
    from rolloupe.api.lists import RunCheck
    from rolloupe.insight import Raised


def rule_lines() -> Iterator[str]:
    """Yield a line for each rule."""
    from rolloupe.insight import RULES

    for rule in RULES.values():
        yield f"{rule.name} ({rule.severity}): {rule.words}"


@dataclass(frozen=True, kw_only=True)
class CheckOptions:
    """Which rules are checked, now and later."""

    without: tuple[str, ...] = option((), "Leave this rule out. Repeatable.", "RULE")
    off: str | None = option(None, "Switch this rule off for the run, and remember it; needs --because.", "RULE")
    because: str = option("", "Why it is switched off.", "REASON")
    on: str | None = option(None, "Switch this rule on again.", "RULE")
    state_dir: str | None = option(None, **STATE_DIR)
    rules: bool = option(False, "Only list the rules, with what each looks for.", **listing(rule_lines))
    as_json: bool = option(False, **JSON)


@command()
def check(asked: CheckOptions, place: RunPaths) -> int:
    """List what looks wrong in the curves of a run, with the command that lists the samples which show it.

    Errors are certainly wrong, hints are worth a look. The exit code is 1 if there is an error, 0 otherwise. Rules that
    could not be checked, as in a run of few steps or of an evaluation with few scores, are listed with the reason.

    --off switches a rule off until --on, with the reason in --because; the page shows both, too. Both act only on runs
    that you name: with --run, or each by its path. --without leaves a rule out once.

    With --json, each object has run, rule, severity (error or hint), title, text, first_step, last_step, split, where
    and sort (for `rolloupe query`), and words, which say when the rule raises an alarm; one for a rule that the run has
    too little for has run, rule and unchecked, the reason.

    Examples:
      rolloupe check RUN_DIR  # Is something wrong with this run?
      rolloupe check RUN_DIR --without length_explosion  # Without a rule that does not fit
      rolloupe check RUN_DIR --off kl_spike --because 'a new reference'  # Never again for this run
      rolloupe check RUN_DIR --json | jq -r '.title // empty'  # For a program; in CI, exit code 1 means an error
      rolloupe check --rules  # What each rule looks for
    """
    from rolloupe.insight import RULES

    unknown = [name for name in (*asked.without, *filter(None, (asked.off, asked.on))) if name not in RULES]
    if unknown:
        raise click.UsageError(f"No rule {unknown[0]!r}; there are: {', '.join(RULES)}.")
    if bool(asked.off) != bool(asked.because.strip()):
        missing = "--off needs --because REASON" if asked.off else "--because says why --off RULE switches a rule off"
        raise click.UsageError(f"{missing}: the reason is kept with the rule.")
    with opened(place, texts=True, state_dir=asked.state_dir) as runs:
        for run in _named(runs, place) if asked.off or asked.on else ():
            if asked.off:
                run.switch_rule(asked.off, off=asked.because)
            if asked.on:
                run.switch_rule(asked.on, off=None)
        answers = [(run, run.check(asked.without)) for run in runs]
        for run, answer in answers:
            if asked.as_json:
                for row in answer.arrow().to_pylist():
                    terminal.tell_json({"run": run.id, **row})
                for rule in answer.unchecked:
                    terminal.tell_json({"run": run.id, "rule": rule.rule, "unchecked": rule.reason})
                continue
            shares_path = place.run_id is not None or sum(other.path == run.path for other in runs) > 1
            for raised in answer:
                _print(run, raised, names_run=len(answers) > 1, shares_path=shares_path)
            _print_checked(run, answer, names_run=len(answers) > 1)
        for run, _ in answers:
            for name, reason in run.rules_off().items():
                terminal.complain(f"Switched off for {run.id}: {name}{f', because {reason}' if reason else ''}.")
        is_wrong = any(raised.rule.severity == "error" for _, answer in answers for raised in answer)
        return terminal.NOTHING if is_wrong else terminal.OK


def _named(runs: "Runs", place: RunPaths) -> "Runs":
    """Return the runs that the command line names, each by its path or by `--run`. A usage error for any other."""
    paths = {os.path.realpath(os.path.expanduser(path)) for path in place.paths}
    others = [run.id for run in runs if len(runs) > len(paths) or os.path.realpath(run.path) not in paths]
    if len(runs) > 1 and others:
        raise click.UsageError(
            f"{len(runs)} runs are there: --off and --on act on runs that you name. Name one with --run, or each by "
            f"its path; they are {', '.join(run.id for run in runs[:20])}."
        )
    return runs


def _print_checked(run: "Run", answer: "RunCheck", *, names_run: bool) -> None:
    """Say how many rules looked; for one run, why the others could not."""
    count, left = len(answer.checked), len(answer.unchecked)
    verdict = "" if answer or not count else "nothing stands out: "
    looked = f"{terminal.counted(count, 'rule')} looked at the curves" if count else "no rule could be checked"
    text = f"{verdict}{looked}{f'; {left} could not' if left and count else ''}"
    if names_run:
        terminal.tell(f"{run.id}: {text}.")
        return
    terminal.tell(f"{text[:1].upper()}{text[1:]}{':' if left else '.'}")
    terminal.show_unchecked((rule.rule, rule.reason) for rule in answer.unchecked)


def _print(run: "Run", raised: "Raised", *, names_run: bool, shares_path: bool) -> None:
    """Print an alarm, and the command that lists the samples which show it, or its curves."""
    rule, alarm = raised
    name = f"{run.id}: " if names_run else ""
    style = "bold red" if rule.severity == "error" else "bold yellow"
    terminal.show_line((f"{rule.severity} ", style), (f"{name}{alarm.title}", "bold"))
    terminal.show_line(f"  {alarm.text}  [{rule.name}]")
    words = ["metrics", run.path, *(curve.name for curve in alarm.curves)]
    if splits := run.splits():
        first, last = alarm.first_step, alarm.last_step
        words = ["query", run.path, "--split", alarm.split or splits[0].name]
        words += ["--step", f"{first}" if first == last else f"{first}:{last}"]
        words += ["--where", alarm.where] if alarm.where else []
        words += ["--sort", alarm.sort, *(["--desc"] if alarm.descending else [])] if alarm.sort else []
    terminal.show_command(*words, *(["--run", run.id] if shares_path else []))
