"""`rolloupe findings`: list what the reward pays for."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click
import msgspec

from rolloupe.cli.runs import Answers, asks, print_json
from rolloupe.cli.terminal import complain, show_command, show_line, tell
from rolloupe.questions import option
from rolloupe.server.settings import STATE_DIR

if TYPE_CHECKING:
    from rolloupe.api import Run
    from rolloupe.insight.findings import RunFindings
    from rolloupe.state import FindingAside


STYLES = {"suspect": "bold red", "unverified": "bold yellow", "earned": "bold green"}


@dataclass(frozen=True, kw_only=True)
class FindingOptions:
    """What a person decides about a finding."""

    not_a_hack: str | None = option(None, "Set the finding of this phrase or behaviour aside, for this run.", "PHRASE")
    why: str = option("", "Why it is not a hack.", "REASON")
    who: str = option("", "Who says so. Default: the person who set one aside last.")
    take_back: str | None = option(None, "Let a finding that was set aside count again.", "PHRASE")
    state_dir: str | None = option(None, **STATE_DIR)


@asks("findings")
def findings(answers: Answers, asked: FindingOptions) -> None:
    r"""List what the reward of a run pays for, with the samples that show it.

    Each finding is a phrase or a behaviour that goes with a better reward than that of siblings, the samples of the
    same group: suspect (paid and on the rise, though the answers are no more often correct), unverified (paid and on
    the rise, in a run that does not say which answers are correct), earned (paid, and correct answers have more of it,
    too), watch (paid, without a clear rise) or drift (on the rise, but not clearly paid). They are evidence, not
    verdicts: read the samples. Correctness is a sample metric called correct, acc, accuracy, solved, success or pass,
    or the one that --correct names.

    --not-a-hack sets a finding aside until --take-back: it is listed last, with --why and --who, here and on the page.
    A part of a phrase is enough if one finding has it.

    With --json, each object has run, text, class, phrase or behaviour, not_a_hack (why, who and since in milliseconds,
    or null), also (the titles of what else is on its card), effect (reward over siblings), z, correctness
    (the effect on it, or null), first and last (the share of the samples that have it, early and late), rise,
    prevalence (by steps), samples (pairs of siblings, the earliest case, a counterexample), title, and what lists the
    samples: where (a filter) or pattern (for `rolloupe search --regex`). What was scanned is printed to standard error.

    Examples:
      rolloupe findings RUN_DIR  # What does the reward pay for, and does correctness follow?
      rolloupe findings RUN_DIR --steps 100:200 --env math  # In some steps, and in one environment
      rolloupe findings RUN_DIR --correct exact_match  # The metric exact_match says what is correct
      rolloupe findings RUN_DIR --not-a-hack 'the answer is' --why 'the prompt asks for it' \
        # Set a finding aside, and remember it
      rolloupe findings RUN_DIR --json | jq -r 'select(.class == "suspect") | .text'  # For a program
    """
    if (asked.why or asked.who) and asked.not_a_hack is None:
        raise click.UsageError("--why and --who go with --not-a-hack PHRASE: name the finding.")
    for run, answer in answers.each:
        titles = {finding.name: finding.title for finding in answer.findings}
        if asked.not_a_hack is not None:
            last = [verdict.who for verdict in run.findings_aside().values()][-1:]
            run.set_finding_aside(_name(asked.not_a_hack, titles), why=asked.why, who=asked.who or "".join(last))
        if asked.take_back is not None:
            own = {name: titles.get(name, "") for name in run.findings_aside()}
            run.set_finding_aside(_name(asked.take_back, own), why=None)
        aside = run.findings_aside()
        if not answers.as_json:
            _print(run, answer, aside, names_run=len(answers.runs) > 1)
            continue
        complain(answer.note)
        for finding in answer.findings:
            verdict = msgspec.to_builtins(aside.get(finding.name))
            print_json(run, msgspec.to_builtins(finding) | {"not_a_hack": verdict})


def _name(words: str, known: Mapping[str, str]) -> str:
    """Return the name that some words mean: all or a part of it, or of its title. Case, blanks and quotes do not count.

    Raises `UsageError` for none, or several.
    """
    plain = _plain(words)
    meant = [name for name in known if plain in (_plain(name), name.removeprefix("derived."))]
    meant = meant or [name for name, title in known.items() if plain in _plain(name) or plain in _plain(title)]
    if len(meant) != 1:
        listed = "; ".join(known) or "none"
        raise click.UsageError(f"{words!r} names {len(meant) or 'no'} findings; there are: {listed}.")
    return meant[0]


def _plain(words: str) -> str:
    return "".join(words.lower().split()).strip("“”\"'")


def _print(run: "Run", answer: "RunFindings", aside: Mapping[str, "FindingAside"], *, names_run: bool) -> None:
    tell(f"{run.id}: {answer.note}" if names_run else answer.note)
    shown = [finding for finding in answer.findings if finding.name not in aside]
    for finding in shown:
        show_line((f"{finding.kind} ", STYLES.get(finding.kind, "bold")), (finding.text, "bold"))
        of_correctness = "" if finding.correctness is None else f", on correctness {finding.correctness:+.3g}"
        show_line(f"  z {finding.z:.1f}, effect {finding.effect:+.3g}{of_correctness}")
        for pair in finding.samples.pairs[:1]:
            for sample in pair:
                show_command("show", run.path, sample)
    if any("#" in finding.phrase for finding in shown):
        tell("In a phrase, # stands for any number.")
    titles = {finding.name: finding.title for finding in answer.findings}
    for name, verdict in aside.items():
        reason = f": {verdict.why}" if verdict.why else ""
        tell(f"Not a hack: {titles.get(name, name)}{reason}{f' ({verdict.by})' if verdict.by else ''}")
