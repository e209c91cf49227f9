"""Rules about single samples, which are read whole, and the final answers that some compare."""

import contextlib
import json
import re
from fractions import Fraction
from unicodedata import normalize

import numpy as np

from rolloupe import tokens
from rolloupe.derive import END_MARKERS
from rolloupe.insight.lint.rule import WholeSample, sample_rule
from rolloupe.text.visible import quoted

_FINAL = [
    re.compile(pattern)
    for pattern in (
        r"\\boxed\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})+)\}", r"<answer>\s*([^<>]+?)\s*</answer>",
        r"####\s*([$€£]?-?\d[\d,./]*)", r"(?i)\banswer(?:\s+is\b\s*:?|\s*[:=])\s*(?!(?:the|a|an|not|as)\b)([^\s:=]+)",
    )
]  # fmt: skip
ENDING, MOST_OBJECTS = 200, 8
"""Characters in which a response names its final answer: one that was cut off may name others before."""
_COMMA = re.compile(r"(?<=\d),(?=\d{3}\b)")
_AROUND = " \t\n\"'()[]{}*_$€£%"
_FRACTION = re.compile(r"\\[dtc]?frac\s*(?:\{\s*(-?[\d.,]+)\s*\}\s*\{\s*([\d.,]+)\s*\}|(\d)\s*(\d))")
_IN_WORDS = re.compile(r"\\(?:text|textbf|mathrm|mbox)\s*\{([^{}]*)\}")
"""The unit of a number, or the whole answer."""
_NO_MEANING = re.compile(r"\\[!,;: ]|\\(?:left|right)\b|\\(?=[$%])|\{(?=,\})|(?<=\{,)\}|\^\{?\\circ\}?")
_NUMBER = re.compile(r"-?(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})(?:\s*/\s*\d{1,40})?")
_WORD = re.compile(r"[^\W\d_]{1,24}")
_UNIT = re.compile(r"(?<=\d)\s*[^\W\d_]+(?:/[^\W\d_]+)?\s*$")
"""The unit after a number: one word, as in "12 km" or "40 km/h"."""


def final_answer(response: str) -> str:
    """Return the last answer that the end of a response marks as such, if it is a number or a word; else nothing."""
    return plain_answer(written_answer(response))


def written_answer(response: str) -> str:
    """Return what the end of a response marks last as its answer; else nothing."""
    end = response[-ENDING:]
    found = next((answers for pattern in _FINAL if (answers := pattern.findall(end))), None)
    return str(found[-1]) if found else ""


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


_OBJECT = re.compile(r"(?m)^\{")


def last_object(text: str) -> dict[str, str] | None:
    """Return the last JSON object of a text at the very start of a line, with values as `plain_answer` has them."""
    for match in reversed([*_OBJECT.finditer(text)][-MOST_OBJECTS:]):
        with contextlib.suppress(ValueError, RecursionError):
            value, _ = json.JSONDecoder().raw_decode(text, match.end() - 1)
            return {key: plain_answer(str(of)) or str(of) for key, of in value.items()}
    return None


CUT_OFF = ("truncated", "aborted", "error", "pending")
"""A trainer may mask these on purpose."""


@sample_rule("Trained on, yet the loss mask has no token", "a loss mask and is trained on", is_certain=True)
def empty_mask(one: WholeSample) -> bool | None:
    """The loss mask of a sample that counts as trained on, and was not cut off, has no token."""
    if not one.is_trained or one.mask is None or not len(one.mask) or one.of.row.status in CUT_OFF:
        return None
    return not one.mask.any()


LEAST_UNPAID, PAID_WRONG = 8, 0.2
LEAST_SHARE = 0.05
_LABELLED = re.compile(
    r"\b(?:answer|solution|gold|label|reference|ground[ _-]?truth)\b[^\n:=]{0,20}[:=]\s*", re.IGNORECASE
)
"""What stands before a label that a prompt states."""
_ENDS = re.compile(r"[^\S\n]*(?:[.)\]}*]+[^\S\n]*)?(?:\n|$)|\s*[)\]}]")
"""What follows it: the end of the line, or a closing bracket."""


@sample_rule("The prompt states the label", "a label and a prompt", least_share=LEAST_SHARE)
def stated_labels(one: WholeSample) -> bool | None:
    """{LEAST_SHARE:.0%} or more of the prompts state the label once, as in "Reference answer: 42" or "[gold = Anna]":
    examples in a prompt state several answers.
    """
    label, prompt = one.of.label.strip(), one.of.prompt_text
    if not label or not prompt:
        return None
    places = [match.end() for match in _LABELLED.finditer(prompt)]
    is_stated = len(places) == 1 and prompt.startswith(label, places[0])
    return is_stated and _ENDS.match(prompt, places[0] + len(label)) is not None


@sample_rule(
    "Right answers have the lowest reward of the run",
    "the label as its final answer, a number or a word",
    least_share=LEAST_SHARE,
    least=LEAST_UNPAID,
    noun="right answer",
)
def unpaid_labels(one: WholeSample) -> bool | str | None:
    """{LEAST_SHARE:.0%} or more of the right answers, and at least {LEAST_UNPAID}, have the lowest reward of the run:
    their final answer is the number or the word of the label, perhaps as another fraction, or with commas, brackets,
    signs of currency, units or other case; or their last JSON object has its values.
    """
    label = plain_answer(one.of.label) or plain_answer(_UNIT.sub("", one.of.label))
    wanted, written = last_object(one.of.label), written_answer(one.of.response_text).strip()
    is_right = last_object(one.of.response_text) == wanted if wanted else label == plain_answer(written)
    if not is_right or not (label or wanted):
        return None
    if not one.is_worst or wanted or written == one.of.label.strip():
        return one.is_worst
    return " for the label ".join(quoted(" ".join(text.split())) for text in (written, one.of.label))


@sample_rule(
    "Wrong answers have the highest reward of the run",
    "a number as its label, and another as its final answer",
    least_share=PAID_WRONG,
    least=LEAST_UNPAID,
    noun="wrong answer",
)
def paid_wrong(one: WholeSample) -> bool | None:
    """{PAID_WRONG:.0%} or more of the wrong answers, and at least {LEAST_UNPAID}, have the highest reward of the run:
    their final answer is another number than the label.
    """
    label, answer = plain_answer(one.of.label), final_answer(one.of.response_text)
    return one.is_best if label != answer and label[-1:].isdigit() and answer[-1:].isdigit() else None


@sample_rule("The loss mask of one turn has gaps", "a loss mask and one turn")
def mask_gap(one: WholeSample) -> bool | None:
    """Between tokens of a trained sample of one turn that the loss mask has, it lacks some."""
    mask = one.trained_mask
    if mask is None or one.of.row.turns != 1:  # between turns, the tokens of tools and users are masked rightly
        return None
    at = np.flatnonzero(mask)
    return bool(at[-1] - at[0] + 1 > len(at))


@sample_rule(
    "The model does not learn to end: the loss mask lacks the last token",
    "a loss mask, is completed and ends with an end-of-sequence token",
    is_certain=True,
)
def masked_end(one: WholeSample) -> bool | None:
    """The last token of a completed, trained sample is an end-of-sequence marker, which the loss mask lacks though it
    has the token before.
    """
    mask = one.trained_mask
    if mask is None or len(mask) < 2 or one.of.row.status != "completed" or not one.token_texts:
        return None
    if one.token_texts[-1].strip() not in END_MARKERS or not mask[-2]:
        return None
    return not mask[-1]


_LEFT_OUT = re.compile(
    r"<[|｜][^<>\s]{1,40}[|｜]>|</?s>|<(?:eos|bos|pad|(?:start|end)_of_turn)>|[\s\ufffd]+", re.IGNORECASE
)
"""What trainers leave out of a text or add to it: special tokens, white space, bytes that are not text."""


@sample_rule(
    "The text of the response is not that of its tokens",
    "a response of one turn with token strings, or ids and a tokenizer",
    is_certain=True,
)
def other_text(one: WholeSample) -> bool | None:
    """The text of a response of one turn, without special tokens and white space, is not part of the text of its
    tokens, nor these of the text.
    """
    sample = one.of
    if sample.row.turns > 1 or sample.response_messages is not None or not sample.token_strings:
        return None
    of_tokens, text = (
        normalize("NFKC", _LEFT_OUT.sub("", whole)) for whole in ("".join(one.token_texts), sample.response_text)
    )
    return of_tokens not in text and text not in of_tokens if of_tokens and text else None


@sample_rule("The loss mask has tokens of the prompt", "a loss mask over its prompt", is_certain=True)
def prompt_in_mask(one: WholeSample) -> bool | None:
    """The loss mask of a trained sample has a token of its prompt, in which the model has said nothing."""
    mask, prompt = one.trained_mask, one.of.row.prompt_tokens
    answers = any(turn.role == "assistant" for turn in one.of.turns if turn.origin == "prompt")
    if mask is None or not prompt or prompt >= len(mask) or answers:
        return None
    return bool(mask[:prompt].any())


@sample_rule("Arrays of one sample differ in length", "token series", is_certain=True)
def unequal_lengths(one: WholeSample) -> bool | None:
    """The token ids, the log-probabilities, the mask or other arrays of a sample cover neither all of its tokens nor
    its response.
    """
    sample = one.of
    if not sample.series:
        return None
    total, starts = tokens.token_count(sample) + sample.unread_tokens, {0, sample.row.prompt_tokens}
    if sample.row.response_tokens is not None:
        starts.add(total - sample.row.response_tokens)
    is_cut = any(tokens.UNEQUAL in note for note in sample.notes)
    knows_start = sample.row.prompt_tokens is not None and not sample.unread_tokens
    return is_cut or any(
        (knows_start and series.offset not in starts)
        or series.offset + len(series.values) + sample.unread_tokens != total
        for series in sample.series
    )
