"""Which splits a name asks for: `eval` stands for every `eval/...`."""

EVALS = "eval"


def is_asked(split: str, asked: str | None) -> bool:
    """True for a split that is asked for: by its own name, as one of all evaluations, or without a name."""
    return asked in (None, split) or (asked == EVALS and split.startswith("eval/"))
