"""The arrays of a sample differ in length."""

from rolloupe import tokens
from rolloupe.insight.lint.whole import SampleRule, WholeSample


def breaks(one: WholeSample) -> bool | None:
    """Look for arrays that end before the last token, or begin neither at the prompt nor at the response."""
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


RULE = SampleRule(
    "unequal_lengths",
    "the token ids, the log-probabilities, the mask or other arrays of a sample cover neither all of its tokens nor "
    "its response",
    breaks,
    "Arrays of one sample differ in length",
    "token series",
    is_certain=True,
)
