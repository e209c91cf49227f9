"""Rules about single samples, which are read whole."""

import re
from unicodedata import normalize

import numpy as np

from rolloupe import tokens
from rolloupe.derive import END_MARKERS
from rolloupe.insight.lint.whole import SampleRule, WholeSample

CUT_OFF = ("truncated", "aborted", "error", "pending")
"""A trainer may mask these on purpose."""


def empty_mask(one: WholeSample) -> bool | None:
    """Nothing of a sample is trained.

    Look at samples that count as trained on, and were not cut off.
    """
    if not one.is_trained or one.mask is None or not len(one.mask) or one.of.row.status in CUT_OFF:
        return None
    return not one.mask.any()


EMPTY_MASK = SampleRule(
    "empty_mask",
    "the loss mask of a sample that counts as trained on, and was not cut off, has no token",
    empty_mask,
    "Trained on, yet the loss mask has no token",
    "a loss mask and is trained on",
    is_certain=True,
)


LEAST_CHARS = 4
LEAST_SHARE = 0.05
_CHOICE = re.compile(r"(?m)^\s*[(\[]?(?:[A-Ha-h]|\d)[)\].:]\s")
"""The line of an answer to choose."""


def label_in_prompt(one: WholeSample) -> bool | None:
    """The prompt holds the right answer.

    Look for the label in the first question, unless that lists answers to choose from.
    """
    label = one.of.label.strip()
    if len(label) < LEAST_CHARS:
        return None
    asked = [turn for turn in one.of.turns if turn.origin == "prompt" and turn.role == "user"]
    text = "".join(part.text for part in asked[0].parts) if asked else one.of.prompt_text
    if not text or len(_CHOICE.findall(text)) > 1:
        return None
    at = text.find(label)
    return at >= 0 and not (text[at - 1 : at].isalnum() or text[at + len(label) :][:1].isalnum())


LABEL_IN_PROMPT = SampleRule(
    "label_in_prompt",
    f"{LEAST_SHARE:.0%} or more of the first questions that list no answers to choose from hold the label, of "
    f"{LEAST_CHARS} characters or more",
    label_in_prompt,
    "The question holds the label",
    f"a label of {LEAST_CHARS} characters or more and a question without answers to choose from",
    least_share=LEAST_SHARE,
)


def mask_gap(one: WholeSample) -> bool | None:
    """The loss mask of one turn has a gap.

    Look at samples of one turn: between turns the tokens of tools and users are masked rightly.
    """
    mask = one.trained_mask
    if mask is None or one.of.row.turns != 1:
        return None
    at = np.flatnonzero(mask)
    return bool(at[-1] - at[0] + 1 > len(at))


MASK_GAP = SampleRule(
    "mask_gap",
    "between tokens of a trained sample of one turn that the loss mask has, it lacks some",
    mask_gap,
    "The loss mask of one turn has gaps",
    "a loss mask and one turn",
)


def masked_end(one: WholeSample) -> bool | None:
    """The token that ends a response is not trained.

    Look at completed samples whose last token is an end-of-sequence marker behind a trained token.
    """
    mask = one.trained_mask
    if mask is None or len(mask) < 2 or one.of.row.status != "completed" or not one.token_texts:
        return None
    if one.token_texts[-1].strip() not in END_MARKERS or not mask[-2]:
        return None
    return not mask[-1]


MASKED_END = SampleRule(
    "masked_end",
    "the last token of a completed, trained sample is an end-of-sequence marker, which the loss mask lacks though it "
    "has the token before",
    masked_end,
    "The model does not learn to end: the loss mask lacks the last token",
    "a loss mask, is completed and ends with an end-of-sequence token",
    is_certain=True,
)


_LEFT_OUT = re.compile(
    r"<[|｜][^<>\s]{1,40}[|｜]>|</?s>|<(?:eos|bos|pad|(?:start|end)_of_turn)>|[\s\ufffd]+", re.IGNORECASE
)
"""What trainers leave out of a text or add to it: special tokens, white space, bytes that are no text."""


def other_text(one: WholeSample) -> bool | None:
    """The text of a response is not what its tokens say.

    Compare the texts of responses of one turn; a trainer may cut either of the two.
    """
    sample = one.of
    if sample.row.turns > 1 or sample.response_messages is not None or not sample.token_strings:
        return None
    tokens = _bare("".join(one.token_texts))
    text = _bare(sample.response_text)
    return tokens not in text and text not in tokens if tokens and text else None


def _bare(text: str) -> str:
    return normalize("NFKC", _LEFT_OUT.sub("", text))


OTHER_TEXT = SampleRule(
    "other_text",
    "the text of a response of one turn, without special tokens and white space, is no part of the text of its "
    "tokens, nor these of the text",
    other_text,
    "The text of the response is not that of its tokens",
    "a response of one turn with token strings, or ids and a tokenizer",
    is_certain=True,
)


def prompt_in_mask(one: WholeSample) -> bool | None:
    """Tokens of the prompt are trained.

    Look at the tokens before the response; earlier answers of the model may be trained.
    """
    mask, prompt = one.trained_mask, one.of.row.prompt_tokens
    answers = any(turn.role == "assistant" for turn in one.of.turns if turn.origin == "prompt")
    if mask is None or not prompt or prompt >= len(mask) or answers:
        return None
    return bool(mask[:prompt].any())


PROMPT_IN_MASK = SampleRule(
    "prompt_in_mask",
    "the loss mask of a trained sample has a token of its prompt, in which the model has said nothing",
    prompt_in_mask,
    "The loss mask has tokens of the prompt",
    "a loss mask over its prompt",
    is_certain=True,
)


def unequal_lengths(one: WholeSample) -> bool | None:
    """The arrays of a sample differ in length.

    Look for arrays that end before the last token, or begin neither at the prompt nor at the response.
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


UNEQUAL_LENGTHS = SampleRule(
    "unequal_lengths",
    "the token ids, the log-probabilities, the mask or other arrays of a sample cover neither all of its tokens nor "
    "its response",
    unequal_lengths,
    "Arrays of one sample differ in length",
    "token series",
    is_certain=True,
)


RULES = (
    EMPTY_MASK,
    LABEL_IN_PROMPT,
    MASK_GAP,
    MASKED_END,
    OTHER_TEXT,
    PROMPT_IN_MASK,
    UNEQUAL_LENGTHS,
)
