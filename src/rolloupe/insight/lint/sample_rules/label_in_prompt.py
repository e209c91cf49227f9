"""The prompt holds the right answer."""

import re

from rolloupe.insight.lint.whole import SampleRule, WholeSample

LEAST_CHARS = 4
LEAST_SHARE = 0.05
_CHOICE = re.compile(r"(?m)^\s*[(\[]?(?:[A-Ha-h]|\d)[)\].:]\s")
"""The line of an answer to choose."""


def breaks(one: WholeSample) -> bool | None:
    """Look for the label in the first question, unless that lists answers to choose from."""
    label = one.of.label.strip()
    if len(label) < LEAST_CHARS:
        return None
    asked = [turn for turn in one.of.turns if turn.origin == "prompt" and turn.role == "user"]
    text = "".join(part.text for part in asked[0].parts) if asked else one.of.prompt_text
    if not text or len(_CHOICE.findall(text)) > 1:
        return None
    at = text.find(label)
    return at >= 0 and not (text[at - 1 : at].isalnum() or text[at + len(label) :][:1].isalnum())


RULE = SampleRule(
    "label_in_prompt",
    f"{LEAST_SHARE:.0%} or more of the first questions that list no answers to choose from hold the label, of "
    f"{LEAST_CHARS} characters or more",
    breaks,
    "The question holds the label",
    f"a label of {LEAST_CHARS} characters or more and a question without answers to choose from",
    least_share=LEAST_SHARE,
)
