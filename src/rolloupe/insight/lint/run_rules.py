"""Rules about a run as a whole."""

from rolloupe import query
from rolloupe.insight.lint.data import LintData
from rolloupe.insight.lint.rule import NOWHERE, Breach, LintRule, counted

MOST_LOSSES = 3


def lost_data(data: LintData) -> Breach | None:
    """The run's own files say that some of its data was never written.

    Look at what the format reports as lost, whatever the steps: what is missing is in none.
    """
    lost = [one.reason for one in data.run.format.losses(data.run.info)]
    more = f"; and {len(lost) - MOST_LOSSES:,} more, in the problems of the run" if len(lost) > MOST_LOSSES else ""
    return Breach(NOWHERE, f"{'; '.join(lost[:MOST_LOSSES])}{more}.", total=len(lost)) if lost else None


LOST_DATA = LintRule(
    "lost_data",
    "the run's files say that some of its data was never written, as on a full disk",
    lost_data,
    is_certain=True,
)


def other_groups(data: LintData) -> Breach | None:
    """The groups of a run other_groups as if another key of its rows made them.

    Look at some rows of the newest steps, whatever the steps: what makes groups is the same in all.
    """
    doubts = query.group_doubts(data.run)
    return Breach(NOWHERE, f"{'; '.join(doubts)}.", total=len(doubts)) if doubts else None


OTHER_GROUPS = LintRule(
    "other_groups",
    "samples of a group have different prompts, models or files that seem no parts of one log, or no key names the "
    "groups and one of the rows may",
    other_groups,
)


MOST_PLACES = 3


def several_launches(data: LintData) -> Breach | None:
    """A run was resumed and wrote steps again into its own files.

    Look at what an earlier launch left, whatever the steps: what counts, and what only a person can tell.
    """
    snapshot = data.run.snapshot()
    again = {key: stats.superseded for key, stats in snapshot.steps.items() if stats.superseded}
    texts = data.run.launch_doubts()
    if again:
        steps = [step for _, step in again]
        span = f"step {min(steps)}" if len(steps) == 1 else f"steps {min(steps)} to {max(steps)}"
        left_out = f"{counted(sum(again.values()))} of {span} left out: a later launch wrote these steps again"
        texts = [left_out, *texts]
    more = f"; and {len(texts) - MOST_PLACES:,} more places" if len(texts) > MOST_PLACES else ""
    total = sum(again.values()) + len(texts) - bool(again)
    return Breach(NOWHERE, f"{'; '.join(texts[:MOST_PLACES])}{more}.", total=total) if texts else None


SEVERAL_LAUNCHES = LintRule(
    "several_launches",
    "the run was resumed and wrote steps again, or its files look so: one goes back to earlier steps, or those of the "
    "last steps are older than those of the steps before",
    several_launches,
)


RULES = (
    LOST_DATA,
    OTHER_GROUPS,
    SEVERAL_LAUNCHES,
)
