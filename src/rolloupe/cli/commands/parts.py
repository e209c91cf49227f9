"""`rolloupe parts`: list what each part of the reward pays for."""

from rolloupe.cli.runs import Answers, asks, print_json
from rolloupe.cli.terminal import complain, show_line, tell


@asks("parts")
def parts(answers: Answers) -> None:
    """List what each part of the reward pays for, as a formula of phrases and behaviours.

    Parts are the sample metrics called reward.NAME; in a run without any, those that it declares with a range, or whose
    name ends with reward or says correctness. Each is fitted to the differences among siblings, the samples of the same
    group. R² is the share of them that the formula explains, in groups where it was not chosen.

    With --json, each object has run, name, text, terms (words, weight, share, phrase or behaviour, and what lists the
    samples: pattern for `rolloupe search --regex`, or where, a filter), r2 (null for a part that could not be fitted),
    spread (the standard deviation among siblings) and groups (where it varies). A note goes to standard error.

    Examples:
      rolloupe parts RUN_DIR  # What does each part of the reward pay for?
      rolloupe parts RUN_DIR --steps 100:200 --env math  # In some steps, and in one environment
      rolloupe parts RUN_DIR --json | jq -c '[.name, .r2, .text]'  # For a program
    """
    for run, found in answers.each:
        if answers.as_json:
            complain(found.note)
            print_json(run, *found.parts)
            continue
        tell(f"{run.id}: {found.note}" if len(answers.runs) > 1 else found.note)
        for part in found.parts:
            show_line((part.text, "bold" if part.terms else ""))
