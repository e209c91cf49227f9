"""What the words in the names of folders and files say: a split, or only that samples lie there."""

import re

EVAL_WORDS = frozenset(("eval", "evals", "evaluation", "val", "valid", "validation", "test"))
TRAIN_WORDS = frozenset(("train", "training"))
SAMPLE_WORDS = frozenset(
    ("completions", "dump", "dumps", "generated", "generation", "generations", "rollout", "rollouts", "samples")
)
NEUTRAL_WORDS = SAMPLE_WORDS | {"data", "dir", "outputs", "result", "results"}
"""Words that tell neither a run nor a split from another."""
SILENT_WORDS = NEUTRAL_WORDS | TRAIN_WORDS | EVAL_WORDS
"""Words that tell no run from another."""

_SEPARATOR = re.compile(r"[_\-.\s]+")


def words_in(part: str) -> list[str]:
    """Return the words in the name of a file or folder, in lower case."""
    return [word for word in _SEPARATOR.split(part.lower()) if word]
