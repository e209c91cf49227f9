"""One prompt at all steps of a run: the index stores its hash (`prompt_hash`), so that no query reads texts.

Two runs give identical prompts the same hash. Counts and means cover all generated samples, including discarded ones: a
group that was discarded because all of it was correct is part of how answers changed.
"""

from typing import NamedTuple

from msgspec import Struct

from rolloupe.errors import BadQuery, NotFound
from rolloupe.index import OpenRun
from rolloupe.model import Real, SampleKey
from rolloupe.query.engine import database
from rolloupe.query.engine.caches import AnswerCache
from rolloupe.query.engine.compile import FILE_ORDER, discard_overlay
from rolloupe.query.engine.database import Question
from rolloupe.query.engine.names import hash_of_word, prompt_word
from rolloupe.query.engine.relation import mean_of
from rolloupe.query.records import Stats, sample_key
from rolloupe.query.sample.load import no_sample
from rolloupe.questions import SameQuery

MOST = 5000
KEPT = 50_000  # number of steps of prompts to cache


class Recurrence(NamedTuple):
    """The answers to a prompt at a step of a split; `key` is the first of them."""

    key: SampleKey
    groups: int
    samples: int
    discarded: int
    reward: Stats
    response_tokens: float | None  # mean over the samples that have a token count


WHICH = "SELECT prompt_hash FROM rows WHERE split = ? AND step = ? AND grp = ? AND idx = ? LIMIT 1"

FOUND = f"""
SELECT split, step, arg_min(grp, row({FILE_ORDER})), arg_min(idx, row({FILE_ORDER})), count(DISTINCT grp), count(*),
       count(*) FILTER (discarded <> ''), avg(response_tokens), count(reward) FILTER (isfinite(reward)),
       {mean_of("reward")}, stddev_pop(reward) FILTER (isfinite(reward)),
       min(reward) FILTER (isfinite(reward)), max(reward) FILTER (isfinite(reward))
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
        recurrences = []
        question = Question(snapshot.holding(), FOUND, [prompt_hash], overlay=discard_overlay(snapshot))
        for *key, groups, samples, discarded, tokens, count, mean, std, low, high in database.ask(run, question):
            reward = Stats(count, mean, std, low, high, samples - count)
            recurrences.append(Recurrence(SampleKey(*key), groups, samples, discarded, reward, tokens))
        return recurrences

    return _cache.get(run, snapshot, prompt_hash, ask)


class SameStep(Struct, frozen=True, kw_only=True):
    """The answers to a prompt at a step; `id` is the first of them."""

    split: str
    step: int
    id: str
    groups: int
    samples: int
    discarded: int
    """How many of the samples were discarded; the mean is over all."""
    reward_mean: Real | None
    reward_std: Real | None
    response_tokens: Real | None
    """Mean over the samples that have one."""


class SamePrompt(Struct, frozen=True):
    """Where the run answers one prompt, by split and step."""

    prompt: str
    """Identifies the prompt in every run."""
    steps: list[SameStep]
    is_cut: bool
    """True if not all steps are listed."""


def same_prompt_answer(run: OpenRun, asked: SameQuery) -> SamePrompt:
    """Return the steps that answer a prompt. Raises `NotFound` for an unknown sample or prompt."""
    if asked.prompt:
        prompt = hash_of_word(asked.prompt)
        if prompt is None:
            raise NotFound(f"{asked.prompt[:40]!r} was never the number of a prompt")
    elif asked.id:
        prompt = prompt_hash_of(run, sample_key(asked.id))
    else:
        raise BadQuery("missing query parameter: id")
    places = recurring(run, prompt)
    steps = [
        SameStep(
            split=place.key.split,
            step=place.key.step,
            id=str(place.key),
            groups=place.groups,
            samples=place.samples,
            discarded=place.discarded,
            reward_mean=place.reward.mean,
            reward_std=place.reward.std,
            response_tokens=place.response_tokens,
        )
        for place in places[:MOST]
    ]
    return SamePrompt(prompt_word(prompt), steps, len(places) > MOST)
