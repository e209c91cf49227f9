"""What a layout cannot hold, in words: how many samples, rows or files, and what they lost."""

from collections.abc import Mapping

COUNTED = {
    "rows of trainer metrics": ("row", "rows", "trainer metrics"),
    "configurations": ("file", "files", "configuration"),
    "checkpoints": ("checkpoint", "checkpoints", "that they were saved, and where"),
    "that a checkpoint has no step": ("checkpoint", "checkpoints", "the fact that they have no step"),
    "differences of code": ("file", "files", "differences of the code"),
    "reports of the trainer (logtree)": ("report", "reports", "outlines of the trainer (logtree)"),
    "earlier attempts at a sample": ("sample", "samples", "earlier attempts"),
}
"""Losses that are not counted in samples: the unit in singular and plural, and a description."""

PLAIN = {
    "group": "the group's own name",
    "group (joined with another)": "which group: those of the same prompt become one",
    "status": "how the sample ended",
    "own word for the status": "the framework's own word for how the sample ended",
    "sample number": "the sample's own number in its group",
    "form of turns": "template markers, delimiters or blanks around what a turn says",
    "parts of turns": "which part of a turn is text, thinking, a tool call or its result",
    "turns and their roles": "where a turn begins, and whose it is",
    "tool calls, or their ids": "tool calls as such, or their ids",
    "names in turns": "who a turn is named after, and which tool call it answers",
    "form of the text of the prompt": "the prompt's text to the letter (what it says is the same)",
    "form of the text of the response": "the response's text to the letter (what it says is the same)",
    "form of the prompt (a list of messages now)": "the form of the prompt, which is a list of messages now",
    "form of the response (a list of messages now)": "the form of the response, which is a list of messages now",
    "that the prompt is a list of messages": "the messages of the prompt, which is one text now",
    "that the response is a list of messages": "the messages of the response, which is one text now",
    "form of the messages of the prompt": "how the messages of the prompt are written",
    "form of the messages of the response": "how the messages of the response are written",
    "form of the reference": "how the response of the reference is written",
    "digits beyond float32 of token series": "digits of token series beyond those of a float32",
}
"""Full descriptions for people. Scripts get the keys."""

WHOLE = "samples "
"""Losses with this prefix count samples that were left out."""


def whole(left: Mapping[str, int]) -> int:
    """How many samples were left out."""
    return sum(count for word, count in left.items() if word.startswith(WHOLE))


def described(word: str, count: int) -> tuple[str, str]:
    """Return how many things lost something, such as `24 samples`, and what they lost."""
    if word.startswith(WHOLE):
        one, several, what = "sample", "samples", f"all of it: {word.removeprefix(WHOLE)}"
    else:
        one, several, what = COUNTED.get(word, ("sample", "samples", PLAIN.get(word, word)))
    return f"{count:,} {one if count == 1 else several}", what
