"""Prompts by their hashes: the steps of a run that answer a prompt, and the prompts that several runs answer.

The index stores a hash of each prompt, so that queries read texts only for a page; two runs give identical prompts the
same hash. Counts and means cover all generated samples, including discarded ones: a group that was discarded because
all of it was correct is part of how answers changed.
"""

import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from msgspec import Struct
from numpy.typing import NDArray

from rolloupe.errors import BadQuery, NotFound
from rolloupe.index import OpenRun, Piece, Snapshot, StepKey
from rolloupe.lru import Lru
from rolloupe.model import Real, SampleKey
from rolloupe.query.engine import database, relation
from rolloupe.query.engine.caches import AnswerCache, bytes_of
from rolloupe.query.engine.compile import FILE_ORDER, discard_overlay
from rolloupe.query.engine.database import Question
from rolloupe.query.engine.names import hash_of_word, is_asked, prompt_word
from rolloupe.query.records import Stats, sample_key
from rolloupe.query.sample.load import no_sample
from rolloupe.query.samples.rows import KEY, ORDER, keyed_values, prompt_texts
from rolloupe.questions import PromptQuery, PromptSampleQuery

MOST = 5000
KEPT = 50_000  # number of steps of prompts to cache
MOST_PROMPTS = 200_000  # maximum number of prompts of a run at a step, in the order of their files
MOST_SAMPLES = 1000
MOST_IDS = 20_000  # the most samples of a prompt to name, beside the best and the worst of each step
MOST_IDS_OF_STEP = 64
PROMPT_SORTS = ("difference", "order")


class Recurrence(NamedTuple):
    """The answers to a prompt at a step of a split; `key` is the first of them.

    `best` and `worst` have the greatest and the least finite reward, the first of several; None if none has one.
    """

    key: SampleKey
    groups: int
    samples: int
    discarded: int
    reward: Stats
    response_tokens: float | None  # mean over the samples that have a token count
    best: SampleKey | None = None
    worst: SampleKey | None = None
    keys: Sequence[SampleKey] = ()  # in file order; of many, the first


WHICH = "SELECT prompt_hash FROM rows WHERE split = ? AND step = ? AND grp = ? AND idx = ? LIMIT 1"

FOUND = f"""
SELECT split, step, count(DISTINCT grp), count(*), count(*) FILTER (discarded <> ''), avg(response_tokens),
       {relation.finite_stats("reward")}
FROM rows WHERE prompt_hash = ? GROUP BY split, step ORDER BY split <> 'train', split, step LIMIT {MOST + 1}
"""

_cache: AnswerCache[list[Recurrence]] = AnswerCache(KEPT, len)


def prompt_hash_of(run: OpenRun, key: SampleKey) -> int:
    """Return the hash of a sample's prompt. Raises `NotFound` for an unknown sample."""
    answer = database.ask(run, Question(run.snapshot().holding([key.split], key.step, key.step), WHICH, key.shared))
    if not answer:
        raise no_sample(run, key)
    return int(answer[0][0])


def recurring(run: OpenRun, prompt_hash: int) -> list[Recurrence]:
    """Return the steps that answered a prompt, by split, `train` first, and step: at most one more than `MOST`."""
    snapshot = run.snapshot()

    def ask() -> list[Recurrence]:
        pieces = snapshot.of(steps_of_prompt(run, snapshot, prompt_hash))
        question = Question(pieces, FOUND, [prompt_hash], overlay=discard_overlay(snapshot))
        found = database.ask(run, question)
        samples = _samples_by_step(run, snapshot, pieces, prompt_hash, len(found)) if found else {}
        recurrences = []
        for split, step, groups, count, discarded, tokens, finite, mean, std, low, high in found:
            keys = samples[split, step, "is_first"]
            best, worst = (next(iter(samples[split, step, name]), None) for name in ("is_best", "is_worst"))
            reward = Stats(finite, mean, std, low, high, count - finite)
            recurrences.append(Recurrence(keys[0], groups, count, discarded, reward, tokens, best, worst, keys))
        return recurrences

    return _cache.get(run, snapshot, prompt_hash, ask)


PICKED = ("is_first", "is_best", "is_worst")


def _samples_by_step(
    run: OpenRun, snapshot: Snapshot, pieces: Sequence[Piece], prompt_hash: int, steps: int
) -> defaultdict[tuple[str, int, str], list[SampleKey]]:
    """Return the samples of a prompt by split, step and `PICKED`: the first of each step, the best and the worst."""
    most = max(1, min(MOST_IDS_OF_STEP, MOST_IDS // steps))
    is_finite = "(reward IS NOT NULL AND isfinite(reward))"
    ranks = {"rank": "", "best": f"{is_finite} DESC, reward DESC, ", "worst": f"{is_finite} DESC, reward, "}
    ranked = ", ".join(
        f"row_number() OVER (PARTITION BY split, step ORDER BY {order}{FILE_ORDER}) AS {name}"
        for name, order in ranks.items()
    )
    sql = f"""
    SELECT (row_number() OVER (ORDER BY split, step, {FILE_ORDER})) - 1 AS nth, {", ".join((*KEY, *ORDER))},
           rank <= {most} AS is_first, is_finite AND best = 1 AS is_best, is_finite AND worst = 1 AS is_worst
    FROM (SELECT *, {is_finite} AS is_finite, {ranked} FROM rows WHERE prompt_hash = ?)
    WHERE is_first OR is_best OR is_worst ORDER BY nth"""
    rows = database.table(run, Question(pieces, sql, [prompt_hash], overlay=discard_overlay(snapshot)))
    samples = defaultdict[tuple[str, int, str], list[SampleKey]](list)
    for key, picks in keyed_values(run, snapshot, rows, PICKED):
        for name in compress(PICKED, picks):
            samples[key.split, key.step, name].append(key)
    return samples


class PromptStep(Struct, frozen=True):
    """The answers to a prompt at a step."""

    split: str
    step: int
    samples: int
    groups: int
    discarded: int
    """How many of the samples were discarded; the mean is over all."""
    reward_mean: Real | None
    reward_std: Real | None
    response_tokens: Real | None
    """Mean over the samples that have one."""
    best: str
    """The sample with the greatest reward; empty if none has a finite one."""
    worst: str
    """The sample with the least reward."""
    ids: list[str]
    """The samples in file order; of many, the first."""


class PromptLife(Struct, frozen=True):
    """Where the run answers one prompt, by split and step."""

    prompt: str
    """Identifies the prompt in every run."""
    text: str
    """Its start."""
    steps: list[PromptStep]
    is_cut: bool
    """True if not all steps are listed."""


def prompt_life(run: OpenRun, asked: PromptQuery) -> PromptLife:
    """Return the steps that answer a prompt. Raises `NotFound` for an unknown sample or prompt."""
    if asked.prompt:
        prompt = hash_of_word(asked.prompt)
        if prompt is None:
            raise NotFound(f"{asked.prompt[:40]!r} is not the number of a prompt")
    elif asked.id:
        prompt = prompt_hash_of(run, sample_key(asked.id))
    else:
        raise BadQuery("name a sample with id, or a prompt with prompt")
    places = recurring(run, prompt)
    if not places:
        raise NotFound(f"no sample of run {run.id!r} answers prompt {prompt_word(prompt)!r}")
    snapshot = run.snapshot()
    first = snapshot.of((key.split, key.step) for key, *_ in places[:1] if (key.split, key.step) in snapshot.pieces)
    texts = prompt_texts(run, first, np.array([prompt], np.int64))
    steps = [
        PromptStep(
            split=place.key.split,
            step=place.key.step,
            samples=place.samples,
            groups=place.groups,
            discarded=place.discarded,
            reward_mean=place.reward.mean,
            reward_std=place.reward.std,
            response_tokens=place.response_tokens,
            best=str(place.best or ""),
            worst=str(place.worst or ""),
            ids=[str(key) for key in place.keys],
        )
        for place in places[:MOST]
    ]
    return PromptLife(prompt_word(prompt), texts.get(prompt, ""), steps, len(places) > MOST)


class SharedPromptItem(Struct, frozen=True):
    """A prompt; each list has an entry for every run, 0 samples and no mean for a run without the prompt."""

    name: str
    """The hash of the prompt, which addresses use as its name."""
    prompt: str
    samples: list[int]
    """All samples of the prompt, including discarded ones."""
    discarded: list[int]
    reward_mean: list[Real | None]
    """Over the finite rewards."""


class SharedPromptsReply(Struct, frozen=True):
    """A page of the `total` prompts that at least two of the runs answered at a step."""

    runs: list[str]
    split: str
    step: int
    prompts_of: list[int]
    """The number of prompts of each run at the step."""
    total: int
    gain: int
    """How many of all these prompts have a higher mean reward in the last run than in the first."""
    lose: int
    stay: int
    offset: int
    prompts: list[SharedPromptItem]
    is_cut: bool
    """True if a run has more prompts at the step than were compared."""


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
    names: NDArray[np.int64]
    samples: NDArray[np.int64]
    discarded: NDArray[np.int64]
    means: NDArray[np.float64]


kept_counts: AnswerCache[_Counts] = AnswerCache(64 * 2**20, bytes_of)

COUNTS = f"""
SELECT prompt_hash, count(*), count(*) FILTER (discarded <> ''), {relation.mean_of("reward")}
FROM rows WHERE list_contains(?, split) AND step = ? AND prompt_hash IS NOT NULL
GROUP BY prompt_hash ORDER BY min(row({FILE_ORDER})) LIMIT {MOST_PROMPTS + 1}
"""


def shared_prompts(
    runs: Sequence[OpenRun], split: str, step: int, *, sort: str = "difference", offset: int = 0, limit: int = 100
) -> SharedPromptsReply:
    """Find the prompts that at least two of the runs answered at a step of a split; `eval` covers all evaluations.

    `difference` sorts by the distance between the greatest and the least mean reward, the greatest first; `order` as
    the first run has them. Raises `BadQuery` for another sort order.
    """
    if sort not in PROMPT_SORTS:
        raise BadQuery(f"sort={sort[:40]!r} is not one of {', '.join(PROMPT_SORTS)}")
    counts = [_counts(run, split, step) for run in runs]
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
    if sort == "difference":  # prompts without two means last
        low, high = np.fmin.reduce(means, initial=np.inf), np.fmax.reduce(means, initial=-np.inf)
        with np.errstate(invalid="ignore", over="ignore"):
            distance = np.where(np.isfinite(means).sum(axis=0) > 1, high - low, -1.0)
        order = np.argsort(-distance, kind="stable")
    page = order[offset : offset + limit]
    texts = _texts(runs, split, step, shared[page], samples[:, page])
    prompts = [
        SharedPromptItem(
            prompt_word(int(shared[place])),
            texts.get(int(shared[place]), ""),
            samples[:, place].tolist(),
            discarded[:, place].tolist(),
            [mean if isfinite(mean) else None for mean in means[:, place].tolist()],
        )
        for place in page.tolist()
    ]
    ids, numbers = [run.id for run in runs], [len(own.names) for own in counts]
    is_cut = max(numbers, default=0) > MOST_PROMPTS
    gain, lose, stay = (int(is_so(means[-1], means[0]).sum()) for is_so in (np.greater, np.less, np.equal))
    return SharedPromptsReply(ids, split, step, numbers, len(shared), gain, lose, stay, offset, prompts, is_cut)


def _pieces(snapshot: Snapshot, split: str, step: int) -> tuple[list[str], list[Piece]]:
    names = sorted({name for name, number in snapshot.pieces if number == step and is_asked(name, split)})
    return names, snapshot.of((name, step) for name in names)


def _counts(run: OpenRun, split: str, step: int) -> _Counts:
    snapshot = run.snapshot()

    def make() -> _Counts:
        names, pieces = _pieces(snapshot, split, step)
        table = database.table(run, Question(pieces, COUNTS, [names, step], overlay=discard_overlay(snapshot)))
        return _Counts(*(column.to_numpy() for column in table.columns))

    return kept_counts.get(run, snapshot, (split, step), make)


def _texts(
    runs: Sequence[OpenRun], split: str, step: int, names: NDArray[np.int64], samples: NDArray[np.int64]
) -> dict[int, str]:
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
    sql = f"""
    SELECT (row_number() OVER (ORDER BY {FILE_ORDER})) - 1 AS nth, {", ".join((*KEY, *ORDER))}, reward, advantage,
           response_tokens, status, discarded, response_preview
    FROM rows WHERE list_contains(?, split) AND step = ? AND prompt_hash = ? ORDER BY nth LIMIT {MOST_SAMPLES}"""
    question = Question(pieces, sql, [names, step, hash_of_word(prompt)], overlay=discard_overlay(snapshot))
    if not pieces or not len(rows := database.table(run, question)):
        raise NotFound(f"no prompt {prompt[:40]!r} at step {step} of {split!r} in run {run.id!r}")
    shown = ("reward", "advantage", "response_tokens", "status", "discarded", "response_preview")
    return PromptSamples([PromptSample(str(key), *values) for key, values in keyed_values(run, snapshot, rows, shown)])


MOST_MEANS = 2_000_000
"""The most prompts of all steps together; the first steps of a longer run are left out."""

MEANS = f"""
SELECT step, coalesce(prompt_hash, 0), {relation.mean_of("reward")}, count(reward) FILTER (isfinite(reward))
FROM rows WHERE list_contains(?, split) AND isfinite(reward) GROUP BY ALL ORDER BY step DESC LIMIT {MOST_MEANS + 1}
"""


class PromptMeans(NamedTuple):
    """Columns of equal length: a row for each prompt at each step, in ascending order of the steps."""

    steps: NDArray[np.int64]
    prompts: NDArray[np.int64]
    """Hashes of the prompts; 0 for a sample without one."""
    means: NDArray[np.float64]
    """Means of the finite rewards of all generated samples, discarded ones included."""
    counts: NDArray[np.int64]

    def rows(self, chosen: NDArray[Any]) -> "PromptMeans":
        """Return some of the rows."""
        return PromptMeans(*(column[chosen] for column in self))  # type: ignore[pyrefly:bad-argument-type]


_means: AnswerCache[PromptMeans] = AnswerCache(128 * 2**20, bytes_of)


def prompt_means(run: OpenRun, splits: Sequence[str]) -> PromptMeans:
    """Return the mean reward of each prompt at each step of some splits together; empty for unknown splits."""
    snapshot = run.snapshot()

    def make() -> PromptMeans:
        question = Question(snapshot.holding(splits), MEANS, [[*splits]], overlay=discard_overlay(snapshot))
        means = PromptMeans(*(column.to_numpy()[::-1] for column in database.table(run, question).columns))
        if len(means.steps) <= MOST_MEANS:
            return means
        return means.rows(means.steps > means.steps[0])  # the first step may lack some of its prompts

    return _means.get(run, snapshot, tuple(splits), make)


KEPT_BYTES = 64 * 2**20
QUICK_ROWS = 200_000
"""`count_steps` reads no more rows than these: 15 ms."""
MOST_CHUNKS = 32
"""Of small chunks, which have `QUICK_ROWS` together: more of them become one."""

EVERY = """
SELECT DISTINCT prompt_hash, number, launch FROM rows JOIN steps USING (split, step)
WHERE prompt_hash IS NOT NULL ORDER BY prompt_hash"""

PieceRows: TypeAlias = tuple[object, ...]
"""Identifies the rows of a piece."""


class Chunk(NamedTuple):
    """The prompts of some pieces, sorted: launch `launches[n]` recorded prompt `hashes[n]` at step `keys[steps[n]]`."""

    pieces: frozenset[PieceRows]
    keys: list[StepKey]
    hashes: NDArray[np.int64]
    steps: NDArray[np.int32]
    launches: NDArray[np.int32]

    def of(self, prompt_hash: int) -> Iterator[tuple[StepKey, int]]:
        """Yield the steps of a prompt, each with the launch that recorded it; 0 for an unknown one."""
        first, stop = (int(np.searchsorted(self.hashes, prompt_hash, side)) for side in ("left", "right"))
        for step, launch in zip(self.steps[first:stop].tolist(), self.launches[first:stop].tolist(), strict=True):
            yield self.keys[step], launch


_kept: Lru[Path, list[Chunk]] = Lru(total=KEPT_BYTES, least=1)
"""By the folder of the index. Each piece is read once: a run that grows adds its new ones."""
_keeping = threading.Lock()


def steps_of_prompt(run: OpenRun, snapshot: Snapshot, prompt_hash: int) -> list[StepKey]:
    """Return the steps with a prompt, in no order."""
    chunks, missing = _known(run, snapshot)
    return _steps(snapshot, [*chunks, *_read_missing(run, missing)], prompt_hash)


def count_steps(run: OpenRun, prompt_hash: int) -> int | None:
    """Return at how many steps a prompt appears; None if that is not known and would take long."""
    snapshot = run.snapshot()
    chunks, missing = _known(run, snapshot)
    if sum(piece.rows for piece in missing) > QUICK_ROWS:
        return None
    return len(_steps(snapshot, [*chunks, *_read_missing(run, missing)], prompt_hash))


def _steps(snapshot: Snapshot, chunks: Iterable[Chunk], prompt_hash: int) -> list[StepKey]:
    steps = dict.fromkeys(
        key
        for chunk in chunks
        for key, launch in chunk.of(prompt_hash)
        if (stats := snapshot.steps.get(key)) is not None and launch in (0, stats.launch)
    )
    return list(steps)


def _known(run: OpenRun, snapshot: Snapshot) -> tuple[list[Chunk], list[Piece]]:
    """Return what is known of the present pieces, and the other pieces."""
    missing = {_rows_of(piece): piece for piece in snapshot.holding()}
    chunks = [chunk for chunk in _kept.get(run.catalog.folder) or [] if chunk.pieces <= missing.keys()]
    for chunk in chunks:
        for rows in chunk.pieces:
            missing.pop(rows, None)
    return chunks, list(missing.values())


def _rows_of(piece: Piece) -> PieceRows:
    return piece.source, piece.start, piece.stop, piece.fingerprint, piece.path is None


def _read_missing(run: OpenRun, missing: list[Piece]) -> Iterator[Chunk]:
    """Read pieces. Rows in memory may change at any time, so they are not cached."""
    written = [piece for piece in missing if piece.path is not None]
    tails = [piece for piece in missing if piece.path is None]
    if written:
        chunk = _read(run, written)
        _keep(run, chunk)
        yield chunk
    if tails:
        yield _read(run, tails)


def _keep(run: OpenRun, chunk: Chunk) -> None:
    present = {_rows_of(piece) for piece in run.snapshot().holding()}
    with _keeping:
        kept = [one for one in _kept.get(run.catalog.folder) or [] if one.pieces <= present]
        if all(one.pieces.isdisjoint(chunk.pieces) for one in kept):  # another thread may have read them too
            kept.append(chunk)
        small = [one for one in kept if len(one.hashes) * MOST_CHUNKS < QUICK_ROWS]
        if len(small) > MOST_CHUNKS:
            large = [one for one in kept if len(one.hashes) * MOST_CHUNKS >= QUICK_ROWS]
            kept = [*large, _merged(small)]
        size = sum(one.hashes.nbytes + one.steps.nbytes + one.launches.nbytes for one in kept)
        _kept.put(run.catalog.folder, kept, size)


def _merged(chunks: Sequence[Chunk]) -> Chunk:
    keys = list(dict.fromkeys(key for chunk in chunks for key in chunk.keys))
    numbers = {key: number for number, key in enumerate(keys)}
    hashes = np.concatenate([chunk.hashes for chunk in chunks])
    steps = [np.array([numbers[key] for key in chunk.keys], np.int32)[chunk.steps] for chunk in chunks]
    launches = np.concatenate([chunk.launches for chunk in chunks])
    order = np.argsort(hashes, kind="stable")
    pieces = frozenset[PieceRows]().union(*(chunk.pieces for chunk in chunks))
    return Chunk(pieces, keys, hashes[order], np.concatenate(steps)[order], launches[order])


def _read(run: OpenRun, pieces: list[Piece]) -> Chunk:
    """Read the rows of all launches: which of them count changes while a run grows."""
    whole = [piece._replace(superseded=()) for piece in pieces]
    keys = list(dict.fromkeys((stats.split, stats.step) for piece in pieces for stats in piece.step_stats))
    splits, steps = zip(*keys, strict=True)
    numbers = pa.table({"split": splits, "step": pa.array(steps, pa.int64()), "number": range(len(keys))})
    table = database.table(run, database.Question(whole, EVERY, tables={"steps": numbers}))
    hashes, places, launches = (column.to_numpy() for column in table.columns)
    return Chunk(frozenset(map(_rows_of, pieces)), keys, hashes, places.astype(np.int32), launches.astype(np.int32))
