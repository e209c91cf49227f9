"""Describes the losses of a conversion: the number of samples, rows or files, and the lost values."""

from collections.abc import Mapping

COUNTED = {
    "rows of trainer metrics": ("row", "rows", "trainer metrics"),
    "configurations": ("file", "files", "configuration"),
    "checkpoints": ("checkpoint", "checkpoints", "that they were saved, and their location"),
    "that a checkpoint has no step": ("checkpoint", "checkpoints", "the fact that they have no step"),
    "differences of code": ("file", "files", "differences of the code"),
    "reports of the trainer (logtree)": ("report", "reports", "outlines of the trainer (logtree)"),
    "earlier attempts at a sample": ("sample", "samples", "earlier attempts"),
}
"""Losses that are not counted in samples: the unit in singular and plural, and a description."""

PLAIN = {
    "group": "the group's own name",
    "group (joined with another)": "the group: groups with the same prompt become one",
    "status": "how the sample ended",
    "original word for the status": "the framework's own word for how the sample ended",
    "sample number": "the sample's own number in its group",
    "form of turns": "template markers, delimiters or blanks around the content of turns",
    "parts of turns": "the kinds of parts: text, thinking, tool call or result",
    "turns and their roles": "the starts of turns, and their roles",
    "tool calls, or their ids": "tool calls as such, or their ids",
    "names in turns": "the names in turns, and the tool calls that they answer",
    "form of the text of the prompt": "the exact text of the prompt (its content is the same)",
    "form of the text of the response": "the exact text of the response (its content is the same)",
    "form of the prompt (now a list of messages)": "the form of the prompt, which is now a list of messages",
    "form of the response (now a list of messages)": "the form of the response, which is now a list of messages",
    "list of messages of the prompt": "the messages of the prompt, which is now one text",
    "list of messages of the response": "the messages of the response, which is now one text",
    "form of the messages of the prompt": "how the messages of the prompt are written",
    "form of the messages of the response": "how the messages of the response are written",
    "form of the reference": "how the response of the reference is written",
    "digits of token series beyond float32": "digits of token series beyond those of a float32",
}
"""Full descriptions for people. Scripts get the keys."""

WHOLE = "samples "
"""Losses with this prefix count samples that were left out."""


def whole(losses: Mapping[str, int]) -> int:
    """Return the number of samples that were left out."""
    return sum(count for word, count in losses.items() if word.startswith(WHOLE))


def described(word: str, count: int) -> tuple[str, str]:
    """Return how many things lost something, such as `24 samples`, and what they lost."""
    if word.startswith(WHOLE):
        one, several, what = "sample", "samples", f"all of it: {word.removeprefix(WHOLE)}"
    else:
        one, several, what = COUNTED.get(word, ("sample", "samples", PLAIN.get(word, word)))
    return f"{count:,} {one if count == 1 else several}", what
