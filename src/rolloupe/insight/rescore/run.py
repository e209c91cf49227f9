"""Scores the samples of a run again, group by group, and compares the scores with the rewards."""

import contextlib
import gc
import math
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct

from rolloupe.index import OpenRun
from rolloupe.insight.rescore.process import MOST_LATE, PREFIX, Graded, GraderFile, GraderLimits, GraderProcess, Verdict
from rolloupe.model import Problem, Sample, ToolCall
from rolloupe.query import SampleItem, SampleQuery, in_scope
from rolloupe.query.sample.stream import TextedSample, groups_with_texts
from rolloupe.tokens import Floats


def plain_sample(item: SampleItem, sample: Sample) -> dict[str, Any]:
    """Return the fields of a sample, by the names in docs/rescore.md."""
    reward, advantage = (None if value is None else float(value) for value in (item.reward, item.advantage))
    return {
        "id": item.id, "split": item.split, "step": item.step, "group": item.group, "index": item.index,
        "env": item.env, "status": item.status, "reward": reward, "advantage": advantage,
        "prompt": sample.prompt_text or sample.row.prompt, "response": sample.response_text or sample.row.response,
        "label": sample.label, "metrics": sample.row.metrics | item.metrics, "tags": sample.row.tags | item.tags,
        "turns": [
            {
                "role": turn.role, "name": turn.name, "origin": turn.origin,
                "text": "".join(part.text if part.raw is None else part.raw for part in turn.parts),
                "parts": [{"kind": part.kind, "text": part.text} for part in turn.parts],
                "tool_calls": [_call(part.call) for part in turn.parts if part.call],
            }
            for turn in sample.turns
        ],
        "tool_calls": [_call(part.call) for turn in sample.turns for part in turn.parts if part.call],
        "prompt_messages": sample.prompt_messages, "response_messages": sample.response_messages,
        "extra": sample.extra,
    }  # fmt: skip


def _call(call: ToolCall) -> dict[str, Any]:
    return {"name": call.name, "arguments": call.arguments, "id": call.id, "error": call.error}


TOLERANCE = 1e-9
"""Rewards that differ by less, relative to the larger, are equal: sums of parts round differently."""


class RewardChange(Struct, frozen=True, kw_only=True):
    """How new scores differ from the rewards of the run, over the samples that have both, finite."""

    samples: int
    equal: float | None
    """The share of samples whose score is the reward."""
    correlation: float | None
    """Pearson's r; None if the rewards or the scores never vary."""
    sign_changes: float | None
    """The share of samples, in groups of two and more, whose centred reward has another sign: +, 0 or -."""
    groups: int
    """The groups of two and more."""
    dead_before: int
    """The groups in which all rewards are equal."""
    dead_after: int
    first_steps: tuple[int, int] | None
    """The first tenth of the steps: its first and its last one."""
    last_steps: tuple[int, int] | None
    old_first: float | None
    """The mean reward over the first tenth of the steps."""
    old_last: float | None
    new_first: float | None
    new_last: float | None
    grader_share: float | None
    """The part of the gain that was the old grader's: 1 - (gain of the score) / (gain of the reward).

    None unless the reward rose.
    """


class Comparison:
    """Adds groups up to a `RewardChange`. `steps` are all steps of the comparison, in order."""

    def __init__(self, steps: Sequence[int]) -> None:
        tenth = math.ceil(len(steps) / 10)
        self._ends = (steps[:tenth], steps[-tenth:]) if len(steps) > 1 else ((), ())
        self._groups: list[tuple[int, Floats]] = []
        """The step of each group, and the rewards and the scores of its samples, shape (N, 2)."""

    def add(self, group: Sequence[Graded]) -> None:
        """Add the samples of one group."""
        both = [(graded.item.reward, graded.verdict.score) for graded in group]
        pairs = [(old, new) for old, new in both if old is not None and new is not None and math.isfinite(old)]
        if pairs:
            self._groups.append((group[0].item.step, np.array(pairs)))

    def change(self) -> RewardChange:
        """Return the change over all groups."""
        values = np.concatenate([np.zeros((0, 2)), *(pairs for _, pairs in self._groups)])
        centred = values - (values.mean(axis=0) if len(values) else 0.0)
        scale = float(np.prod(np.sqrt((centred**2).sum(axis=0))))
        equal = sum(is_same(old, new) for old, new in values.tolist())
        compared = [[signs(column) for column in pairs.T.tolist()] for _, pairs in self._groups if len(pairs) > 1]
        olds, news = ([of_group[side] for of_group in compared] for side in (0, 1))
        pairs_of_signs = list(zip(chain(*olds), chain(*news), strict=True))
        changed = sum(old != new for old, new in pairs_of_signs)
        first, last = ((steps[0], steps[-1]) if steps else None for steps in self._ends)
        (old_first, new_first), (old_last, new_last) = map(self._means, self._ends)
        return RewardChange(
            samples=len(values), equal=equal / len(values) if len(values) else None,
            correlation=max(-1.0, min(1.0, float(centred[:, 0] @ centred[:, 1]) / scale)) if scale > 0 else None,
            sign_changes=changed / len(pairs_of_signs) if pairs_of_signs else None, groups=len(compared),
            dead_before=sum(not any(old) for old in olds), dead_after=sum(not any(new) for new in news),
            first_steps=first, last_steps=last, old_first=old_first, old_last=old_last,
            new_first=new_first, new_last=new_last,
            grader_share=grader_share(old_first, old_last, new_first, new_last),
        )  # fmt: skip

    def _means(self, steps: Sequence[int]) -> list[float | None]:
        own = [pairs for step, pairs in self._groups if step in steps]
        return np.concatenate(own).mean(axis=0).tolist() if own else [None, None]


def grader_share(
    old_first: float | None, old_last: float | None, new_first: float | None, new_last: float | None
) -> float | None:
    """Return the part of the gain that was the old grader's; None unless the old reward rose."""
    if old_first is None or old_last is None or new_first is None or new_last is None:
        return None
    if old_last <= old_first or is_same(old_first, old_last):
        return None
    return 1 - (new_last - new_first) / (old_last - old_first)


def signs(rewards: Sequence[float]) -> list[int]:
    """Return the signs of the rewards of a group, centred; 0 for all if the rewards are equal."""
    least, most = min(rewards), max(rewards)
    if is_same(least, most):
        return [0] * len(rewards)
    mean = least + sum(reward - least for reward in rewards) / len(rewards)
    near = TOLERANCE * (most - least)
    return [(reward - mean > near) - (reward - mean < -near) for reward in rewards]


def is_same(one: float, other: float) -> bool:
    """Return whether two numbers differ by rounding at most."""
    return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)


AHEAD_BYTES = 32 * 2**20
"""How many bytes of records may wait for the processes, so that reading goes on while a grader is slow."""

THRESHOLDS = (50_000, 20, 100)

LISTED = 20
"""How many failures are listed; all are counted, and saved with their samples."""

Advanced = Callable[[int, int], None]
"""Takes how many samples are graded, and how many there are."""


class FailedSample(NamedTuple):
    """A sample that could not be graded."""

    id: str
    kind: str
    reason: str


class Rescored(NamedTuple):
    """The result of a rescoring. Samples hold the score as the sample metric `column`."""

    name: str
    grader: str
    column: str
    samples: int
    failures: dict[str, int]
    """How many samples could not be graded, by kind, the most frequent first."""
    failed: list[FailedSample]
    """The first of them."""
    change: RewardChange
    total: int
    """How many samples there are to grade: more than `samples` if the grader hung, so that it ended early."""


class RescorePlan(NamedTuple):
    """The grader, the samples that it grades, its limits, and a function that takes the progress."""

    grader: GraderFile
    query: SampleQuery
    limits: GraderLimits = GraderLimits()
    jobs: int = 2
    advanced: Advanced = lambda _done, _total: None


def rescored(run: OpenRun, plan: RescorePlan, save: Callable[[Sequence[Graded]], None]) -> Rescored:
    """Grade samples again; `save` gets each group. Memory keeps two numbers of each sample.

    Raises `BadQuery` for a grader that cannot be loaded; any other failure is a verdict on its sample. If the grader
    runs out of time on `MOST_LATE` samples in a row, ends early and keeps the samples graded until then.
    """
    least, most = plan.query.step_min, plan.query.step_max
    steps = sorted({step for split, step in run.snapshot().steps if split in plan.query.splits})
    comparison = Comparison([n for n in steps if (least is None or n >= least) and (most is None or n <= most)])
    failures: Counter[str] = Counter()
    failed: list[FailedSample] = []
    done, total, late = 0, in_scope(run, plan.query), 0
    with _rare_collection(), contextlib.closing(graded_groups(run, plan)) as groups:
        for every in groups:
            group = []
            for graded in every:
                verdict = graded.verdict
                late = late + 1 if verdict.failed == "timeout" else 0
                group.append(graded)
                if verdict.failed is not None:
                    failures[verdict.failed] += 1
                    if len(failed) < LISTED:
                        failed.append(FailedSample(graded.item.id, verdict.failed, verdict.reason))
                if late == MOST_LATE:
                    break
            save(group)
            comparison.add(group)
            done += len(group)
            plan.advanced(done, total)
            if late == MOST_LATE:
                break
    path, function, name, _ = plan.grader
    counts, change = dict(failures.most_common()), comparison.change()
    return Rescored(name, f"{path}:{function}", f"{PREFIX}{name}", done, counts, failed, change, total)


@contextlib.contextmanager
def _rare_collection() -> Iterator[None]:
    """Collect garbage more rarely: samples are trees, and the search for cycles takes a quarter of the time."""
    before = gc.get_threshold()
    gc.set_threshold(*THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def graded_groups(run: OpenRun, plan: RescorePlan) -> Generator[list[Graded]]:
    """Yield each group with its verdicts, in the order of the run. Ends the children, however it ends."""
    processes = [GraderProcess(plan.grader, plan.limits) for _ in range(plan.jobs)]
    idle = list(processes)

    def grade(group: Sequence[TextedSample]) -> list[Graded]:
        process = idle.pop()
        try:
            return _graded(process, group)
        finally:
            idle.append(process)

    pool = ThreadPoolExecutor(plan.jobs, thread_name_prefix="rescore")
    waiting: deque[tuple[int, Future[list[Graded]]]] = deque()
    ahead = 0
    try:
        for group in groups_with_texts(run, plan.query):
            size = sum(texted.size for texted in group)
            waiting.append((size, pool.submit(grade, group)))
            ahead += size
            while waiting and (ahead > AHEAD_BYTES or waiting[0][1].done()):
                size, graded = waiting.popleft()
                ahead -= size
                yield graded.result()
        for _, graded in waiting:
            yield graded.result()
    finally:
        for process in processes:
            process.kill()
        pool.shutdown(cancel_futures=True)
        for process in processes:
            process.close()


def _graded(process: GraderProcess, group: Sequence[TextedSample]) -> list[Graded]:
    plain = [plain_sample(of.item, of.sample) for of in group if not isinstance(of.sample, Problem)]
    verdicts = iter(process.verdicts(plain) if plain else ())
    graded = []
    for texted in group:
        if isinstance(texted.sample, Problem):
            verdict = Verdict(failed="unreadable", reason=texted.sample.reason)
        else:
            verdict = next(verdicts, Verdict(failed="crash", reason="the rescoring was ended"))
        graded.append(Graded(texted.item, texted.place, verdict))
    return graded
