"""`rolloupe check`: list what looks wrong in the curves of a run."""

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rolloupe.cli import options
from rolloupe.cli.frame import NOTHING, OK, Command, Example
from rolloupe.cli.output import dumps
from rolloupe.cli.terminal import complain, line, output, tell

if TYPE_CHECKING:
    from rolloupe.api import Run, Runs
    from rolloupe.api.checks import RunCheck
    from rolloupe.insight import Alarm, Raised

EXAMPLES = (
    Example("rolloupe check RUN_DIR", "Is something wrong with this run?"),
    Example("rolloupe check RUN_DIR --without length_explosion", "Without a rule that does not fit"),
    Example("rolloupe check RUN_DIR --off kl_spike --because 'a new reference'", "Never again for this run"),
    Example(
        "rolloupe check RUN_DIR --json | jq -r '.title // empty'", "For a program; in CI, exit code 1 means an error"
    ),
    Example("rolloupe check --rules", "What each rule looks for"),
)


@click.command(cls=Command, examples=EXAMPLES)
@options.paths
@options.one_run
@click.option("--without", multiple=True, metavar="RULE", help="Leave this rule out. Repeatable.")
@click.option("--off", metavar="RULE", help="Switch this rule off for the run, and remember it; needs --because.")
@click.option("--because", default="", metavar="REASON", help="Why it is switched off.")
@click.option("--on", metavar="RULE", help="Switch this rule on again.")
@options.state
@click.option("--rules", "lists_rules", is_flag=True, help="Only list the rules, with what each looks for.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on each line.")
@options.reading
def check(
    run_id: str | None,
    without: tuple[str, ...],
    off: str | None,
    because: str,
    on: str | None,
    state_dir: Path | None,
    lists_rules: bool,
    as_json: bool,
    **place: Any,
) -> int:
    """List what looks wrong in the curves of a run, with the command that lists the samples which show it.

    Errors are certainly wrong, hints are worth a look. The exit code is 1 if there is an error, 0 otherwise. Rules that
    could not be checked, as in a run of few steps or of an evaluation with few scores, are listed with the reason.

    --off switches a rule off until --on, with the reason in --because; the page shows both, too. Both act only on runs
    that you name: with --run, or each by its path. --without leaves a rule out once.

    With --json, each object has run, rule, severity (error or hint), title, text, first_step, last_step, split, where
    and sort (for `rolloupe query`), and words, which say when the rule raises an alarm; one for a rule that the run has
    too little for has run, rule and unchecked, the reason.
    """
    from rolloupe.insight import RULES

    unknown = [name for name in (*without, *filter(None, (off, on))) if name not in RULES]
    if unknown:
        raise click.UsageError(f"No rule {unknown[0]!r}; there are: {', '.join(RULES)}.", click.get_current_context())
    if lists_rules:
        for rule in RULES.values():
            tell(f"{rule.name} ({rule.severity}): {rule.words}")
        return OK
    if bool(off) != bool(because.strip()):
        missing = "--off needs --because REASON" if off else "--because says why --off RULE switches a rule off"
        raise click.UsageError(f"{missing}: the reason is kept with the rule.", click.get_current_context())
    paths = options.place_of(**place)
    with options.opened(paths, run_id=run_id, texts=True, state_dir=state_dir) as runs:
        if not len(runs):
            options.explain_nothing(runs)
            return NOTHING
        for run in _named(runs, paths, run_id) if off or on else ():
            if off:
                run.switch_rule(off, off=because)
            if on:
                run.switch_rule(on, off=None)
        found = [(run, run.check(without)) for run in options.chosen(runs, run_id)]
        for run, answer in found:
            if as_json:
                _print_json(run, answer)
            else:
                shares_path = run_id is not None or sum(one.path == run.path for one in runs) > 1
                for raised in answer:
                    _print(run, raised, names_run=len(found) > 1, shares_path=shares_path)
                _print_checked(run, answer, names_run=len(found) > 1)
        for run, _ in found:
            for name, reason in run.rules_off().items():
                complain(f"Switched off for {run.id}: {name}{f', because {reason}' if reason else ''}.")
        is_wrong = any(raised.rule.severity == "error" for _, answer in found for raised in answer)
        return NOTHING if is_wrong else OK


def _named(runs: "Runs", place: options.RunPaths, run_id: str | None) -> "list[Run]":
    """Return the runs that the command line names, each by its path or by `--run`. A usage error for any other."""
    chosen = options.chosen(runs, run_id)
    paths = {os.path.realpath(os.path.expanduser(path)) for path in place.paths}
    others = [run.id for run in chosen if len(chosen) > len(paths) or os.path.realpath(run.path) not in paths]
    if len(chosen) > 1 and others:
        raise click.UsageError(
            f"{len(chosen)} runs are there: --off and --on act on runs that you name. Name one with --run, or each by "
            f"its path; they are {', '.join(run.id for run in chosen[:20])}.",
            click.get_current_context(),
        )
    return chosen


def _print_json(run: "Run", answer: "RunCheck") -> None:
    for raised in answer:
        tell(dumps(_object(run, raised)))
    for one in answer.unchecked:
        tell(dumps({"run": run.id, "rule": one.rule, "unchecked": one.reason}))


def _print_checked(run: "Run", answer: "RunCheck", *, names_run: bool) -> None:
    """Say how many rules looked; for one run, why the others could not."""
    name = f"{run.id}: " if names_run else ""
    count, left = len(answer.checked), len(answer.unchecked)
    verdict = "" if answer or not count else "nothing stands out: "
    looked = f"{count} rule{'' if count == 1 else 's'} looked at the curves" if count else "no rule could be checked"
    others = f"; {left} could not" if left and count else ""
    text = f"{verdict}{looked}{others}"
    tell(f"{name}{text if name else text[:1].upper() + text[1:]}{':' if left and not names_run else '.'}")
    for one in answer.unchecked if not names_run else ():
        output().print(line(f"  {one.rule}: {one.reason}", "dim"), soft_wrap=True)


def _object(run: "Run", raised: "Raised") -> dict[str, Any]:
    rule, alarm = raised
    return {
        "run": run.id, "rule": rule.name, "severity": rule.severity, "title": alarm.title, "text": alarm.text,
        "first_step": alarm.first_step, "last_step": alarm.last_step, "split": alarm.split, "where": alarm.where,
        "sort": alarm.sort, "words": rule.words,
    }  # fmt: skip


def _print(run: "Run", raised: "Raised", *, names_run: bool, shares_path: bool) -> None:
    rule, alarm = raised
    console = output()
    style = "bold red" if rule.severity == "error" else "bold yellow"
    name = f"{run.id}: " if names_run else ""
    console.print(line(f"{rule.severity} ", style) + line(f"{name}{alarm.title}", "bold"), soft_wrap=True)
    console.print(line(f"  {alarm.text}  [{rule.name}]"), soft_wrap=True)
    names = [one.name for one in alarm.curves]
    words = _of_samples(run, alarm) if run.splits() else ["rolloupe", "metrics", run.path, *names]
    console.print(line(f"  {shlex.join([*words, *(['--run', run.id] if shares_path else [])])}", "dim"), soft_wrap=True)


def _of_samples(run: "Run", alarm: "Alarm") -> list[str]:
    """The command that lists the samples which show an alarm."""
    steps = f"{alarm.first_step}" if alarm.first_step == alarm.last_step else f"{alarm.first_step}:{alarm.last_step}"
    split = alarm.split or next((one.name for one in run.splits()), "")
    words = ["rolloupe", "query", run.path, *(["--split", split] if split else []), "--step", steps]
    words += ["--where", alarm.where] if alarm.where else []
    return words + (["--sort", alarm.sort, *(["--desc"] if alarm.descending else [])] if alarm.sort else [])
