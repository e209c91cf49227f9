"""Scores the samples of a run again, group by group."""

import contextlib
import gc
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

from rolloupe.index import OpenRun
from rolloupe.insight.rescore.comparison import Comparison, RewardChange
from rolloupe.insight.rescore.process import MOST_LATE, PREFIX, Graded, GraderFile, GraderLimits, GraderProcess, Verdict
from rolloupe.model import Problem, Sample, ToolCall
from rolloupe.query import SampleItem, SampleQuery, TextedSample, groups_with_texts, in_scope


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


AHEAD_BYTES = 32 * 2**20
"""How many bytes of records may wait for the processes, so that reading goes on while a grader is slow."""

THRESHOLDS = (50_000, 20, 100)
"""The thresholds of the garbage collector while samples are graded."""

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
    """Grade samples again; `save` gets each group. Memory does not grow with the run.

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
