"""Names of splits in queries: `eval` means every `eval/...`."""

EVALS = "eval"


def is_asked(split: str, selection: str | None) -> bool:
    """True if the selection names this split or all evaluations, or selects nothing."""
    return selection in (None, split) or (selection == EVALS and split.startswith("eval/"))
