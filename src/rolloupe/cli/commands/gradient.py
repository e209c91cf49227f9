"""`rolloupe gradient`: say where the gradient came from."""

from typing import TYPE_CHECKING

import msgspec

from rolloupe.cli.runs import Answers, asks, print_json
from rolloupe.cli.terminal import NOTHING, OK, complain, print_table, tell

if TYPE_CHECKING:
    from rolloupe.api import Run
    from rolloupe.insight.gradient import GradientShare, RunGradient

    Parts = list[tuple[str, GradientShare]]


SHAPING = "groups all right or all wrong"


@asks("gradient")
def gradient(answers: Answers) -> int:
    """Say where the gradient of the training samples came from: a sample pulls by the square of its advantage.

    The table has shares of the samples and of what they pull: by the reward less the mean of its group; the same
    divided by the standard deviation of the group; and by the advantages that the trainer recorded. Groups of equal
    rewards are dead: nothing pulls. Groups all right or all wrong differ only by other parts of the reward.

    With --json, the first object has run, groups, dead, effective, samples, discarded, correct, all_right, all_wrong,
    prompts and samples to look at; one for each share follows, with run, by (shaping, env, length or outcome), name,
    where (a filter), samples, groups, on_rewards, on_std and recorded; then one for each step with run, step, groups
    and dead.

    Examples:
      rolloupe gradient RUN_DIR  # Which samples did the run learn from?
      rolloupe gradient RUN_DIR --steps 100:200 --env math  # In some steps, and in one environment
      rolloupe gradient RUN_DIR --json | jq -c 'select(.by == "length")'  # For a program
    """
    shown = 0
    for run, found in answers.each:
        if found.note:
            complain(f"{run.id}: {found.note}")
            continue
        shown += 1
        if not answers.as_json:
            _print(run, found)
            continue
        shares = ("shaping", "by_env", "by_length", "by_outcome", "by_step", "note")
        facts = {name: value for name, value in msgspec.to_builtins(found).items() if name not in shares}
        parts = ({"by": by} | msgspec.to_builtins(share) for by, share in _parts(found))
        print_json(run, facts, *parts, *found.by_step)
    return OK if shown else NOTHING


def _parts(found: "RunGradient") -> "Parts":
    shaping = [] if found.shaping is None else [("shaping", found.shaping)]
    cuts = (("env", found.by_env), ("length", found.by_length), ("outcome", found.by_outcome))
    return [*shaping, *((name, share) for name, shares in cuts for share in shares)]


def _print(run: "Run", found: "RunGradient") -> None:
    if found.single == found.groups:
        tell(
            f"{run.id}: all {found.groups:,} groups have one sample, which has no siblings to differ from: no gradient."
        )
        return
    if found.dead == found.groups:
        tell(f"{run.id}: all {found.groups:,} groups have equal rewards: no gradient.")
        return
    alone = f" ({found.single:,} of one sample)" if found.single else ""
    without = f", {found.discarded:,} discarded (counted in groups only)" if found.discarded else ""
    tell(
        f"{run.id}: {found.samples:,} trained samples{without}. Of {found.groups:,} groups "
        f"{found.dead:,}{alone} have equal rewards, and no gradient. Effective number of groups: "
        f"{found.effective:,.0f}."
    )
    rows = []
    for by, share in _parts(found):
        parts = (share.samples / found.samples, share.on_rewards, share.on_std, share.recorded)
        percents = ["" if part is None else f"{part:.1%}" for part in parts]
        rows.append([by, SHAPING if by == "shaping" else share.name or "(none)", share.samples, *percents])
    if rows:
        shares = ("share", "rewards", "divided by std", "recorded")
        print_table(("by", "part", "samples", *shares), rows, right=shares)
    if (fared := found.prompts) is not None and fared.always + fared.never + fared.solved + fared.lost + fared.mixed:
        tell(
            f"Prompts of several steps, by {fared.metric}: {fared.always:,} always right, {fared.never:,} never, "
            f"{fared.solved:,} solved, {fared.lost:,} lost, {fared.mixed:,} mixed."
        )
