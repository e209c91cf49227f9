"""The prompts that several runs answered at one step: how many samples each run has of them, with which mean reward.

The index stores a hash of each prompt, and two runs give identical prompts the same one. Each run is asked one
statement about the step, and a cache keeps its answer; only the prompts of a page are read as texts. Counts and means
cover all generated samples, including discarded ones.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from rolloupe.errors import BadQuery, NotFound
from rolloupe.index import OpenRun, Piece, Snapshot
from rolloupe.model import Real
from rolloupe.query.engine import database
from rolloupe.query.engine.caches import AnswerCache, bytes_of
from rolloupe.query.engine.compile import FILE_ORDER, discard_overlay
from rolloupe.query.engine.database import Question
from rolloupe.query.engine.names import hash_of_word, is_asked, prompt_word
from rolloupe.query.engine.relation import mean_of
from rolloupe.query.samples.rows import KEY, ORDER, keyed_values, prompt_texts
from rolloupe.questions import PromptSampleQuery

MOST_PROMPTS = 200_000  # maximum number of prompts of a run at a step, in the order of their files
MOST_SAMPLES = 1000
PROMPT_SORTS = ("difference", "order")


class PromptInRuns(NamedTuple):
    """A prompt; `samples`, `discarded` and `means` have an entry for each run, 0 and None without the prompt."""

    name: str  # the hash of the prompt, as addresses write it
    prompt: str
    samples: list[int]
    discarded: list[int]
    means: list[float | None]  # mean of the finite rewards


class SharedPrompts(NamedTuple):
    """A page of the `total` prompts that at least two of the runs answered at a step."""

    prompts_of: list[int]  # the number of prompts of each run at the step
    total: int
    offset: int
    prompts: list[PromptInRuns]
    is_cut: bool  # true if a run has more prompts at the step than are compared


class PromptSample(Struct, frozen=True):
    """A sample of a prompt."""

    id: str
    reward: Real | None
    advantage: Real | None
    response_tokens: int | None
    status: str
    discarded: str
    preview: str
    """The start of the response."""


class PromptSamples(Struct, frozen=True):
    """The samples of a prompt at a step."""

    samples: list[PromptSample]


class _Counts(NamedTuple):
    """The prompts of a run at a step, in the order of their first samples."""

    names: NDArray[np.int64]
    samples: NDArray[np.int64]
    discarded: NDArray[np.int64]
    means: NDArray[np.float64]


kept_counts: AnswerCache[_Counts] = AnswerCache(64 * 2**20, bytes_of)

COUNTS = f"""
SELECT prompt_hash, count(*), count(*) FILTER (discarded <> ''), {mean_of("reward")}
FROM rows WHERE list_contains(?, split) AND step = ? AND prompt_hash IS NOT NULL
GROUP BY prompt_hash ORDER BY min(row({FILE_ORDER})) LIMIT {MOST_PROMPTS + 1}
"""


def shared_prompts(
    runs: Sequence[OpenRun], split: str, step: int, *, sort: str = "difference", offset: int = 0, limit: int = 100
) -> SharedPrompts:
    """Find the prompts that at least two of the runs answered at a step of a split; `eval` covers all evaluations.

    `difference` sorts by the distance between the greatest and the least mean reward, the greatest first; `order` as
    the first run has them. Raises `BadQuery` for another sort order.
    """
    if sort not in PROMPT_SORTS:
        raise BadQuery(f"sort={sort[:40]!r} is not one of {', '.join(PROMPT_SORTS)}")
    counts = [_counts(run, split, step) for run in runs]
    is_cut = any(len(own.names) > MOST_PROMPTS for own in counts)
    every = np.concatenate([np.zeros(0, np.int64), *(own.names for own in counts)])
    names, first, runs_with = np.unique(every, return_index=True, return_counts=True)
    shared = names[runs_with > 1][np.argsort(first[runs_with > 1], kind="stable")]
    means = np.full((len(runs), len(shared)), np.nan)
    samples, discarded = np.zeros(means.shape, np.int64), np.zeros(means.shape, np.int64)
    for number, own_counts in enumerate(counts):
        _, here, own = np.intersect1d(shared, own_counts.names, return_indices=True)
        means[number, here], samples[number, here] = own_counts.means[own], own_counts.samples[own]
        discarded[number, here] = own_counts.discarded[own]
    order = np.arange(len(shared))
    if sort == "difference":  # those without two means last
        low, high = np.fmin.reduce(means, initial=np.inf), np.fmax.reduce(means, initial=-np.inf)
        with np.errstate(invalid="ignore", over="ignore"):
            distance = np.where(np.isfinite(means).sum(axis=0) > 1, high - low, -1.0)
        order = np.argsort(-distance, kind="stable")
    page = order[offset : offset + limit]
    texts = _texts(runs, split, step, shared[page], samples[:, page])
    prompts = [
        PromptInRuns(
            prompt_word(int(shared[place])),
            texts.get(int(shared[place]), ""),
            samples[:, place].tolist(),
            discarded[:, place].tolist(),
            [None if np.isnan(mean) else mean for mean in means[:, place].tolist()],
        )
        for place in page.tolist()
    ]
    return SharedPrompts([len(own.names) for own in counts], len(shared), offset, prompts, is_cut)


def _pieces(snapshot: Snapshot, split: str, step: int) -> tuple[list[str], list[Piece]]:
    """Return the splits that have a step, and the pieces that hold it."""
    names = sorted({name for name, number in snapshot.pieces if number == step and is_asked(name, split)})
    return names, snapshot.of((name, step) for name in names)


def _counts(run: OpenRun, split: str, step: int) -> _Counts:
    snapshot = run.snapshot()

    def make() -> _Counts:
        names, pieces = _pieces(snapshot, split, step)
        if not pieces:
            none = np.zeros(0, np.int64)
            return _Counts(none, none, none, np.zeros(0))
        table = database.table(run, Question(pieces, COUNTS, [names, step], overlay=discard_overlay(snapshot)))
        hashes, samples, discarded, means = (column.to_numpy() for column in table.columns)
        return _Counts(hashes, samples, discarded, means)

    return kept_counts.get(run, snapshot, (split, step), make)


def _texts(
    runs: Sequence[OpenRun], split: str, step: int, names: NDArray[np.int64], samples: NDArray[np.int64]
) -> dict[int, str]:
    """The starts of some prompts, each from the first run that has it."""
    texts: dict[int, str] = {}
    owner = np.argmax(samples > 0, axis=0) if len(names) else np.zeros(0, np.int64)
    for number in dict.fromkeys(owner.tolist()):
        run = runs[number]
        texts |= prompt_texts(run, _pieces(run.snapshot(), split, step)[1], names[owner == number])
    return texts


def prompt_samples(run: OpenRun, asked: PromptSampleQuery) -> PromptSamples:
    """Return the samples of a prompt at a step, at most `MOST_SAMPLES`. Raises `NotFound` without any."""
    snapshot, split, step, prompt = run.snapshot(), asked.split, asked.step, asked.prompt
    names, pieces = _pieces(snapshot, split, step)
    prompt_hash = hash_of_word(prompt)
    sql = f"""
    SELECT (row_number() OVER (ORDER BY {FILE_ORDER})) - 1 AS nth, {", ".join((*KEY, *ORDER))}, reward, advantage,
           response_tokens, status, discarded, response_preview
    FROM rows WHERE list_contains(?, split) AND step = ? AND prompt_hash = ? ORDER BY nth LIMIT {MOST_SAMPLES}"""
    rows = None
    if prompt_hash is not None and pieces:
        rows = database.table(run, Question(pieces, sql, [names, step, prompt_hash], overlay=discard_overlay(snapshot)))
    if rows is None or not len(rows):
        raise NotFound(f"no prompt {prompt[:40]!r} at step {step} of {split!r} in run {run.id!r}")
    shown = ("reward", "advantage", "response_tokens", "status", "discarded", "response_preview")
    return PromptSamples([PromptSample(str(key), *values) for key, values in keyed_values(run, snapshot, rows, shown)])
