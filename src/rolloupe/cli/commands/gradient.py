"""`rolloupe gradient`: say where the gradient came from."""

from typing import TYPE_CHECKING

import msgspec

from rolloupe.cli.frame import NOTHING, OK, Example
from rolloupe.cli.questions import Answers, asks, print_json
from rolloupe.cli.terminal import complain, number, print_table, tell

if TYPE_CHECKING:
    from rolloupe.api import Run
    from rolloupe.insight.gradient import GradientShare, RunGradient

    Parts = list[tuple[str, GradientShare]]

EXAMPLES = (
    Example("rolloupe gradient RUN_DIR", "Which samples did the run learn from?"),
    Example("rolloupe gradient RUN_DIR --steps 100:200 --env math", "In some steps, and in one environment"),
    Example("rolloupe gradient RUN_DIR --json | jq -c 'select(.by == \"length\")'", "For a program"),
)

SHAPING = "groups all right or all wrong"


@asks("gradient", examples=EXAMPLES)
def gradient(answers: Answers) -> int:
    """Say where the gradient of the training samples came from: a sample pulls by the square of its advantage.

    The table has shares of the samples and of what they pull: by the reward less the mean of its group; the same
    divided by the standard deviation of the group; and by the advantages that the trainer recorded. Groups of equal
    rewards are dead: nothing pulls. Groups all right or all wrong differ only by other parts of the reward.

    With --json, the first object has run, groups, dead, effective, samples, discarded, correct, all_right, all_wrong,
    prompts and samples to look at; one for each share follows, with run, by (shaping, env, length or outcome), name,
    where (a filter), samples, groups, on_rewards, on_std and recorded; then one for each step with run, step, groups
    and dead.
    """
    shown = 0
    for run, found in answers.each:
        if found.note:
            complain(f"{run.id}: {found.note}")
            continue
        _print_json(run, found) if answers.as_json else _print(run, found)
        shown += 1
    return OK if shown else NOTHING


def _parts(found: "RunGradient") -> "Parts":
    shaping = [] if found.shaping is None else [("shaping", found.shaping)]
    cuts = (("env", found.by_env), ("length", found.by_length), ("outcome", found.by_outcome))
    return [*shaping, *((name, one) for name, shares in cuts for one in shares)]


def _print_json(run: "Run", found: "RunGradient") -> None:
    facts = msgspec.to_builtins(found)
    shares = ("shaping", "by_env", "by_length", "by_outcome", "by_step", "note")
    print_json(run, {name: value for name, value in facts.items() if name not in shares})
    print_json(run, *({"by": by} | msgspec.to_builtins(share) for by, share in _parts(found)), *found.by_step)


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
    tell(
        f"{run.id}: {found.samples:,} trained samples{_without(found.discarded)}. Of {found.groups:,} groups "
        f"{found.dead:,}{alone} have equal rewards, and no gradient. The others pull as much as "
        f"{found.effective:,.0f} of equal weight would."
    )
    columns = ["by", "part", "samples", "share", "rewards", "divided by std", "recorded"]
    rows = [_row(by, one, found) for by, one in _parts(found)]
    if rows:
        print_table(columns, rows, numbers=columns[2:])
    if (fared := found.prompts) is not None and fared.always + fared.never + fared.solved + fared.lost + fared.mixed:
        tell(
            f"Prompts of several steps, by {fared.metric}: {fared.always:,} always right, {fared.never:,} never, "
            f"{fared.solved:,} solved, {fared.lost:,} lost, {fared.mixed:,} mixed."
        )


def _without(discarded: int) -> str:
    return f", without {discarded:,} discarded, which count in groups alone" if discarded else ""


def _row(by: str, one: "GradientShare", found: "RunGradient") -> list[str]:
    shares = (one.samples / found.samples, one.on_rewards, one.on_std, one.recorded)
    percents = ["" if share is None else f"{share:.1%}" for share in shares]
    return [by, SHAPING if by == "shaping" else one.name or "(none)", number(one.samples), *percents]
