"""What a layout cannot hold, in words: of how many samples, rows or files, and what it is."""

from collections.abc import Mapping

COUNTED = {
    "rows of trainer metrics": ("row", "rows", "trainer metrics"),
    "configurations": ("file", "files", "configuration"),
    "checkpoints": ("checkpoint", "checkpoints", "that they were saved, and where"),
    "that a checkpoint has no step": ("checkpoint", "checkpoints", "that there is no step"),
    "differences of code": ("file", "files", "differences of the code"),
    "reports of the trainer (logtree)": ("report", "reports", "outlines of the trainer (logtree)"),
    "earlier attempts at a sample": ("sample", "samples", "earlier attempts"),
}
"""Words whose count is not of samples that lost something: what is counted, one and several, and what it is."""

WHOLE = "samples "
"""Words that begin so count samples that were left out whole."""


def whole(left: Mapping[str, int]) -> int:
    """How many samples were left out whole."""
    return sum(count for word, count in left.items() if word.startswith(WHOLE))


def described(word: str, count: int) -> tuple[str, str]:
    """Return of how many of what something was left out, as `24 samples`, and what it is."""
    if word.startswith(WHOLE):
        one, several, what = "sample", "samples", f"all of it: {word.removeprefix(WHOLE)}"
    else:
        one, several, what = COUNTED.get(word, ("sample", "samples", word))
    return f"{count:,} {one if count == 1 else several}", what
