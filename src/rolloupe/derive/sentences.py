"""Sentences, cut the simple way: at the ends of lines, and at full stops before a blank."""

MARKS = (". ", "! ", "? ", "。", "！", "？")

AROUND = " \t\r.!?"

SHORT = 8
"""A sentence of fewer characters may well come twice."""


def sentences_of(text: str) -> list[str]:
    """The sentences of a text without the blanks and full stops around them, short ones left out."""
    for mark in MARKS:
        if mark in text:
            text = text.replace(mark, "\n")
    return [one for line in text.split("\n") if len(one := line.strip(AROUND)) >= SHORT]
