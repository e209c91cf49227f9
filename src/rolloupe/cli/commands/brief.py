"""`rolloupe brief`: say what is worth knowing of a run."""

from rolloupe.cli.runs import Answers, asks, print_json
from rolloupe.cli.terminal import NOTHING, OK, show_line, tell


@asks("brief")
def brief(answers: Answers) -> int:
    """Say what is worth knowing about a run in at most three sentences, the most important first.

    They say what the reward did and when, what evaluations did, what the reward pays for, what else spread in the
    answers, and what is wrong with the samples or the curves. A change is reported only if it stands out of the noise.
    `rolloupe findings`, `lint` and `check` say more.

    With --json, each object has run, text, kind (reward, held_out, paid_for, answers, data or curves), steps (the first
    and the last that it is about, or null) and evidence: the page that shows it, and what to choose there.

    Examples:
      rolloupe brief RUN_DIR  # What happened in this run?
      rolloupe brief RUNS_DIR  # In each of several runs
      rolloupe brief RUN_DIR --json | jq -r .text  # For a program
    """
    shown = 0
    for run, found in answers.each:
        shown += len(found.sentences)
        if answers.as_json:
            print_json(run, *found.sentences)
            continue
        if len(answers.runs) > 1:
            show_line((run.id, "bold"))
        for sentence in found.sentences:
            tell(f"{sentence.kind.replace('_', ' '):>8}  {sentence.text}")
        if not found.sentences:
            tell(f"{run.id} has no sample with a reward, and nothing else stands out.")
    return OK if shown else NOTHING
