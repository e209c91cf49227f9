"""`rolloupe prompt`: show how the answers to one prompt changed."""

from collections.abc import Iterator
from typing import Any

from rolloupe.cli.runs import Answers, asks, print_json
from rolloupe.cli.terminal import NOTHING, OK, complain, number, print_table, show_command, show_line, tell
from rolloupe.errors import NotFound


@asks("prompt")
def prompt(answers: Answers) -> int:
    """Show how the answers to one prompt changed: the steps where it appears, with its best and its worst sample.

    --id names a sample that answers the prompt. Prompts must be equal to the letter. Discarded samples count. The last
    lines show the best answer of the first step and of the last one.

    With --json, each object is a step and has run, split, step, samples, groups, discarded, reward_mean, reward_std,
    response_tokens (a mean), best and worst (ids; empty without a reward) and ids, the samples in file order.

    Examples:
      rolloupe prompt RUN_DIR --id train/12/3/97  # Did the model learn this prompt?
      rolloupe prompt RUN_DIR --id train/12/3/97 --json | jq -r .best  # The best answer of every step
    """
    shown = 0
    for run, life in _with_prompt(answers):
        shown += len(life.steps)
        if answers.as_json:
            print_json(run, *life.steps)
            continue
        show_line((f"{run.id}: {' '.join(life.text.split())}" if life.text else run.id, "bold"))
        rows = [
            (one.step, one.split, one.samples, one.discarded or "", number(one.reward_mean), one.best, one.worst)
            for one in life.steps
        ]
        names = ("step", "split", "samples", "discarded", "mean reward", "best", "worst")
        print_table(names, rows, right=("discarded", "mean reward"))
        if life.is_cut:
            complain(f"Only the first {len(life.steps):,} steps are listed.")
        if len(life.steps) == 1:
            tell("The prompt appears only at this step.")
            continue
        for best in dict.fromkeys(one.best for one in (life.steps[0], life.steps[-1]) if one.best):
            show_command("show", run.path, best)
    return OK if shown else NOTHING


def _with_prompt(answers: Answers) -> Iterator[tuple[Any, Any]]:
    """Yield the runs with their answers. A run without the prompt is an error, or is named if it is one of several."""
    while True:
        try:
            yield next(answers.each)
        except StopIteration:
            return
        except NotFound as error:
            if len(answers.runs) == 1:
                raise
            complain(str(error))
