"""Names of splits in queries: `eval` means every `eval/...`."""

EVALS = "eval"


def is_asked(split: str, selection: str | None) -> bool:
    """True if the selection is this split, `eval` for one of all evaluations, or None for any split."""
    return selection in (None, split) or (selection == EVALS and split.startswith("eval/"))
