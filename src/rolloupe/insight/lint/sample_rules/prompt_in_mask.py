"""Tokens of the prompt are trained."""

from rolloupe.insight.lint.whole import SampleRule, WholeSample


def breaks(one: WholeSample) -> bool | None:
    """Look at the tokens before the response; earlier answers of the model may be trained."""
    mask, prompt = one.trained_mask, one.of.row.prompt_tokens
    answers = any(turn.role == "assistant" for turn in one.of.turns if turn.origin == "prompt")
    if mask is None or not prompt or prompt >= len(mask) or answers:
        return None
    return bool(mask[:prompt].any())


RULE = SampleRule(
    "prompt_in_mask",
    "the loss mask of a trained sample has a token of its prompt, in which the model has said nothing",
    breaks,
    "The loss mask has tokens of the prompt",
    "a loss mask over its prompt",
    is_certain=True,
)
