"""`rolloupe tail`: print each new step of a run, with its best, its median and its worst sample."""

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from rolloupe.cli import options, progress
from rolloupe.cli.runs import explain_nothing, open_runs
from rolloupe.cli.terminal import NOTHING, OK, complain, number, show_line, tell_json
from rolloupe.questions import option
from rolloupe.server.settings import RunPaths

if TYPE_CHECKING:
    from rolloupe.api import Run, Runs
    from rolloupe.query import SampleItem, StepSummary


LOOK_S = 0.5
"""The pause between two looks."""
QUIET_S = 3.0
"""The newest step counts as whole once it has not changed for this long."""
PREVIEW = 160

Seen = dict[tuple[str, str, int], tuple[int, float]]
"""The stamp of each step that is not printed yet, and when it changed, by run, split and step."""


class StepSamples(NamedTuple):
    """A step, and its best, median and worst sample; None for a step without rewards."""

    run: "Run"
    step: "StepSummary"
    samples: "dict[str, SampleItem | None]"


@dataclass(frozen=True, kw_only=True)
class TailOptions:
    """Which steps to print."""

    split: str | None = option(None, "One split; eval stands for every eval/... Default: all.")
    last: int = option(1, "Begin with the last N steps.", ge=0, show_default=True)
    count: int | None = option(None, "Stop after N steps. Default: at Ctrl-C.", ge=1)
    as_json: bool = option(False, **options.JSON)


@options.command()
def tail(asked: TailOptions, place: RunPaths) -> int:
    """Follow runs: print the figures of each new step, and its best, median and worst sample.

    If there is no run yet, as in an empty or a missing folder, the command waits for one, and says so on standard
    error.

    A step is printed once, when a later one has begun or when it has not changed for three seconds.

    With --json, each object has run, split, step, samples, discarded (a count), reward_mean, reward_std, reward_min,
    reward_max, and best, median and worst: objects with id, reward, advantage, status, response_tokens, prompt and
    response (their starts), or null for a step without rewards.

    Examples:
      rolloupe tail RUN_DIR  # Each step as it ends, until Ctrl-C
      rolloupe tail RUN_DIR --json | jq -c '[.step, .reward_mean, .worst.id]'  # For a program
      rolloupe tail RUN_DIR --last 20 --count 20  # The last twenty steps, and no more
    """
    with progress.looking():
        runs = open_runs(place, follow=True, wait=False, waits=True)
    with runs:
        progress.wait(runs)
        awaited = runs.awaited
        if len(runs) and not any(run.splits() for run in runs):
            awaited = awaited or f"Waiting for the first samples of {', '.join(run.id for run in runs)}."
        if awaited:
            complain(f"{awaited} Ctrl-C ends.")
        elif not len(runs):
            explain_nothing(runs)
            return NOTHING
        for nth, found in enumerate(_steps(runs, place.run_id, asked.split, asked.last), 1):
            tell_json(_record(found)) if asked.as_json else _print(found)
            sys.stdout.flush()  # a reader of a pipe follows, too
            if nth == asked.count:
                break
    return OK


def _steps(runs: "Runs", run_id: str | None, split: str | None, last: int) -> "Iterator[StepSamples]":
    """Yield steps as they become whole, for ever; first the last ones of each split of the runs that are there already.

    A run is left out until its present files are indexed. In a run that begins later, every step is new.
    """
    from rolloupe.query.engine.names import is_asked

    seen: Seen = {}
    printed: set[tuple[str, str, int]] = set()
    ready: set[Run] = set()
    old: set[Run] | None = None
    while True:
        chosen = [*runs] if run_id is None or not len(runs) else [runs.run(run_id)]
        old = set(chosen) if old is None else old
        ready |= {run for run in chosen if run not in ready and run.wait(0)}
        for run in (run for run in chosen if run in ready):
            for name in (one.name for one in run.splits() if is_asked(one.name, split)):
                summaries = run.steps(name)
                if run in old:
                    printed |= {(run.id, name, one.step) for one in summaries[: max(0, len(summaries) - last)]}
                yield from _whole(run, summaries, seen, printed)
            old.discard(run)
        time.sleep(LOOK_S)


def _whole(
    run: "Run", summaries: "Sequence[StepSummary]", seen: Seen, printed: set[tuple[str, str, int]]
) -> "Iterator[StepSamples]":
    is_quiet = (run.changed_s() or 0.0) > QUIET_S
    for nth, summary in enumerate(summaries):
        key = run.id, summary.split, summary.step
        if key in printed:
            continue
        stamp, since = seen.get(key, (None, 0.0))
        if stamp != summary.stamp:
            seen[key] = summary.stamp, time.monotonic()
            since = time.monotonic()
        is_old = is_quiet or time.monotonic() - since > QUIET_S
        if nth + 1 < len(summaries) or (is_old and summary.state != "being written"):
            printed.add(key)
            seen.pop(key, None)
            last = summary.reward.count - 1
            places = {"best": 0, "median": last // 2, "worst": last}
            yield StepSamples(run, summary, {word: _sample(run, summary, at) for word, at in places.items()})


def _sample(run: "Run", summary: "StepSummary", place: int) -> "SampleItem | None":
    """Return the sample at a place in the order of the finite rewards, the greatest first."""
    if place < 0:
        return None
    most = sys.float_info.max
    finite = f"reward >= -{most} and reward <= {most}"
    samples = run.samples(
        split=summary.split, step=summary.step, trained=True, where=finite, sort="reward", descending=True,
        offset=place, limit=1,
    )  # fmt: skip
    return next(samples, None)


def _record(found: StepSamples) -> dict[str, Any]:
    step, names = found.step, ("id", "reward", "advantage", "status", "response_tokens", "prompt", "response")
    return {
        "run": found.run.id,
        **{name: getattr(step, name) for name in ("split", "step", "samples", "discarded")},
        **{f"reward_{name}": getattr(step.reward, name) for name in ("mean", "std", "min", "max")},
        **{word: item and {name: getattr(item, name) for name in names} for word, item in found.samples.items()},
    }


def _print(found: StepSamples) -> None:
    step, reward = found.step, found.step.reward
    figures = f"reward {number(reward.mean)} ±{number(reward.std)}, {number(reward.min)} to {number(reward.max)}"
    discarded = f", {step.discarded} discarded" if step.discarded else ""
    show_line((f"{found.run.id}  {step.split}  step {step.step}", "bold"))
    show_line(f"  {step.samples} samples{discarded}  {figures}")
    for word, item in found.samples.items():
        if item is not None:
            preview = " ".join(item.response.split())[:PREVIEW]
            show_line(f"  {word:6} {number(item.reward):>8}  {item.id}  {preview}")
