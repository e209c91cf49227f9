"""The groups of a run look as if another key of its rows made them."""

from rolloupe import query
from rolloupe.insight.lint.data import LintData
from rolloupe.insight.lint.rule import NOWHERE, Breach, LintRule


def look(data: LintData) -> Breach | None:
    """Look at some rows of the newest steps, whatever the steps: what makes groups is the same in all."""
    doubts = query.group_doubts(data.run)
    return Breach(NOWHERE, f"{'; '.join(doubts)}.", total=len(doubts)) if doubts else None


RULE = LintRule(
    "other_groups",
    "samples of a group have different prompts, models or files that seem no parts of one log, or no key names the "
    "groups and one of the rows may",
    look,
)
