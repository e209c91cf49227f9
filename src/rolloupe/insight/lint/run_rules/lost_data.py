"""The run's own files say that some of its data was never written."""

from rolloupe.insight.lint.data import LintData
from rolloupe.insight.lint.rule import NOWHERE, Breach, LintRule

MOST_NAMED = 3


def look(data: LintData) -> Breach | None:
    """Look at what the format reports as lost, whatever the steps: what is missing is in none."""
    lost = [one.reason for one in data.run.format.losses(data.run.info)]
    more = f"; and {len(lost) - MOST_NAMED:,} more, in the problems of the run" if len(lost) > MOST_NAMED else ""
    return Breach(NOWHERE, f"{'; '.join(lost[:MOST_NAMED])}{more}.", total=len(lost)) if lost else None


RULE = LintRule(
    "lost_data", "the run's files say that some of its data was never written, as on a full disk", look, is_certain=True
)
