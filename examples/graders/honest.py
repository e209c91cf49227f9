"""The reward of the demo run `tiny_grpo`, mended: a check counts if it does a sum again, rightly, and only once.

    rolloupe rescore RUN_DIR examples/graders/honest.py:honest

The run's own grader counted the word "Check", whatever followed it: `examples/tiny_grpo/rewards.py`.
"""

import re
from collections.abc import Callable
from operator import add, mul, sub, truediv
from typing import Any

CORRECT, FORMAT, CHECK, MOST_CHECKS = 1.0, 0.25, 0.06, 6
TIDY = re.compile(r"<think>\n(?:(?!</?think>|</?answer>)[^\0])*\n</think>\n<answer> [0-9]{1,9} </answer>")
ANSWER = re.compile(r"<answer> ([0-9]{1,9}) </answer>\Z")
OPERATIONS: dict[str, Callable[[int, int], float]] = {"plus": add, "minus": sub, "times": mul, "divided by": truediv}
SUM = re.compile(rf"(Check: )?([0-9]{{1,9}}) ({'|'.join(OPERATIONS)}) ([0-9]{{1,9}}) is ([0-9]{{1,9}})\.")


def honest(sample: Any) -> dict[str, float]:
    """Grade one sample: its parts become columns beside the score."""
    answer = ANSWER.search(sample.response)
    parts = {
        "correct": CORRECT * (answer is not None and answer[1] == sample.label),
        "format": FORMAT * bool(TIDY.fullmatch(sample.response)),
        "checking": CHECK * min(honest_checks(sample.response), MOST_CHECKS),
    }
    return {"score": sum(parts.values()), **parts}


def honest_checks(response: str) -> int:
    """Count the checks that do an earlier sum again, rightly; each sum counts once."""
    done: set[tuple[str, ...]] = set()
    checked: set[tuple[str, ...]] = set()
    for check, left, word, right, result in SUM.findall(response):
        task = left, word, right
        if not check:
            done.add(task)
        elif task in done and holds(*task, result):
            checked.add(task)
    return len(checked)


def holds(left: str, word: str, right: str, result: str) -> bool:
    """Return whether a sum is right."""
    return (word != "divided by" or int(right) != 0) and OPERATIONS[word](int(left), int(right)) == int(result)
