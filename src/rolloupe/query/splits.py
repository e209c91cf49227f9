"""Names of splits in queries: `eval` means every `eval/...`."""

EVALS = "eval"


def is_asked(split: str, selection: str | None) -> bool:
    """True for a requested split: by its own name, as one of all evaluations, or without a name."""
    return selection in (None, split) or (selection == EVALS and split.startswith("eval/"))
