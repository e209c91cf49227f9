"""A response that ends by itself counts as truncated."""

from rolloupe.insight.lint.data import LintData
from rolloupe.insight.lint.rule import Breach, LintRule, Unknown, breach


def look(data: LintData) -> Breach | Unknown | None:
    """Look for end-of-sequence markers at the end of truncated responses of one turn."""
    ends = (data.ends == 1) & (data.turns <= 1)
    if not ends.any():
        return Unknown("no response of one turn ends with an end-of-sequence marker in its text")
    return breach(
        ends & (data.status == "truncated"), "Ends with an end-of-sequence marker, yet counts as truncated: {n}."
    )


RULE = LintRule(
    "needless_truncation", "a truncated response of one turn ends with an end-of-sequence marker", look, is_certain=True
)
