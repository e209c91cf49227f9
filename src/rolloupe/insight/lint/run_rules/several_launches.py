"""A run was resumed and wrote steps again into its own files."""

from rolloupe.insight.lint.data import LintData
from rolloupe.insight.lint.rule import NOWHERE, Breach, LintRule, counted

MOST_NAMED = 3


def look(data: LintData) -> Breach | None:
    """Look at what an earlier launch left, whatever the steps: what counts, and what only a person can tell."""
    snapshot = data.run.snapshot()
    again = {key: stats.superseded for key, stats in snapshot.steps.items() if stats.superseded}
    texts = data.run.launch_doubts()
    if again:
        steps = [step for _, step in again]
        span = f"step {min(steps)}" if len(steps) == 1 else f"steps {min(steps)} to {max(steps)}"
        left_out = f"{counted(sum(again.values()))} of {span} left out: a later launch wrote these steps again"
        texts = [left_out, *texts]
    more = f"; and {len(texts) - MOST_NAMED:,} more places" if len(texts) > MOST_NAMED else ""
    total = sum(again.values()) + len(texts) - bool(again)
    return Breach(NOWHERE, f"{'; '.join(texts[:MOST_NAMED])}{more}.", total=total) if texts else None


RULE = LintRule(
    "several_launches",
    "the run was resumed and wrote steps again, or its files look so: one goes back to earlier steps, or those of the "
    "last steps are older than those of the steps before",
    look,
)
