"""The final answers of responses, as far as numbers and words go."""

import re

_FINAL = [
    re.compile(pattern)
    for pattern in (
        r"\\boxed\{([^{}]+)\}", r"<answer>\s*([^<>]+?)\s*</answer>", r"####\s*([$€£]?-?\d[\d,.]*)",
        r"(?i)\banswer(?:\s+is\b\s*:?|\s*[:=])\s*(?!(?:the|a|an|not|as)\b)([^\s:=]+)",
    )
]  # fmt: skip
ENDING = 200
"""Characters in which a response names its final answer: one that was cut off may name others before."""
_COMMA = re.compile(r"(?<=\d),(?=\d{3}\b)")
_PLAIN = re.compile(r"-?(?:\d+(?:\.\d+)?|\.\d+)|[^\W\d_]{1,24}")
"""A number or a word: of other answers nobody can tell here whether they are the same."""


def final_answer(response: str) -> str:
    """Return the last answer that the end of a response marks as such, if it is a number or a word; else nothing."""
    end = response[-ENDING:]
    found = next((answers for pattern in _FINAL if (answers := pattern.findall(end))), None)
    return plain_answer(str(found[-1])) if found else ""


def plain_answer(answer: str) -> str:
    """Return a number or a word without brackets, signs of currency and case; nothing for any other answer."""
    plain = _COMMA.sub("", answer.strip(" \t\n\"'()[]{}*_$€£%").rstrip(".,;:!*)")).lower()
    return plain if _PLAIN.fullmatch(plain) else ""
