"""Finds the final answer of a response, and compares answers that are numbers or single words."""

import re
from fractions import Fraction

_FINAL = [
    re.compile(pattern)
    for pattern in (
        r"\\boxed\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})+)\}", r"<answer>\s*([^<>]+?)\s*</answer>",
        r"####\s*([$€£]?-?\d[\d,./]*)", r"(?i)\banswer(?:\s+is\b\s*:?|\s*[:=])\s*(?!(?:the|a|an|not|as)\b)([^\s:=]+)",
    )
]  # fmt: skip
ENDING = 200
"""Characters in which a response names its final answer: one that was cut off may name others before."""
_COMMA = re.compile(r"(?<=\d),(?=\d{3}\b)")
_AROUND = " \t\n\"'()[]{}*_$€£%"
_FRACTION = re.compile(r"\\[dtc]?frac\s*(?:\{\s*(-?[\d.,]+)\s*\}\s*\{\s*([\d.,]+)\s*\}|(\d)\s*(\d))")
_IN_WORDS = re.compile(r"\\(?:text|textbf|mathrm|mbox)\s*\{([^{}]*)\}")
"""The unit of a number, or the whole answer."""
_NO_MEANING = re.compile(r"\\[!,;: ]|\\(?:left|right)\b|\\(?=[$%])|\{(?=,\})|(?<=\{,)\}|\^\{?\\circ\}?")
_NUMBER = re.compile(r"-?(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})(?:\s*/\s*\d{1,40})?")
_WORD = re.compile(r"[^\W\d_]{1,24}")


def final_answer(response: str) -> str:
    """Return the last answer that the end of a response marks as such, if it is a number or a word; else nothing."""
    end = response[-ENDING:]
    found = next((answers for pattern in _FINAL if (answers := pattern.findall(end))), None)
    return plain_answer(str(found[-1])) if found else ""


def plain_answer(answer: str) -> str:
    """Return a word in lower case, or a number, equal for all ways to write it; nothing for any other answer.

    Brackets, signs of currency and of percent, commas of thousands, zeros at the end and units of LaTeX do not count;
    nobody can tell here whether other answers are the same.
    """
    answer = _FRACTION.sub(lambda match: "/".join(filter(None, match.groups())), answer)
    without = _NO_MEANING.sub("", _IN_WORDS.sub("", answer))
    answer = without if without.strip(_AROUND) else _IN_WORDS.sub(r"\1", answer)
    plain = _COMMA.sub("", answer.strip(_AROUND).rstrip(".,;:!*)")).lower()
    if _NUMBER.fullmatch(plain):
        over, _, under = plain.partition("/")
        return str(Fraction(over.strip()) / Fraction(under.strip() or 1)) if not under or int(under) else ""
    return plain if _WORD.fullmatch(plain) else ""
