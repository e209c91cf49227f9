"""Groups of rollouts, and how long they take to arrive.

A trainer that waits for the slowest response wastes its machines, so real ones go on with what has arrived: groups come
late, made by weights of some steps ago, and those that come too late are thrown away. Here the delay follows from the
length of the longest response and from the speed of an engine that varies; the weights that made them are truly old.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random

import torch

from rewards import Grade, grade
from sampling import Response, Sampler
from settings import Settings
from task import Problem, make_problem
from vocabulary import Vocabulary


class PromptTooLongError(ValueError):
    """A prompt that the engine does not take."""


@dataclass(slots=True)
class Rollout:
    """One response to a problem, and what it is worth. `uid` is what the recorder calls it."""

    prompt_ids: list[int]
    response: Response
    text: str
    grade: Grade
    uid: str = ""


@dataclass(slots=True)
class Group:
    """The rollouts of one problem, made at `step` with the weights of that step."""

    step: int
    number: int
    problem: Problem
    arrives: int
    """The step at which the trainer gets it."""
    rollouts: list[Rollout] = field(default_factory=list)

    @property
    def name(self) -> str:
        """What the recorder calls the group."""
        return f"{self.number:02}"

    @property
    def rewards(self) -> list[float]:
        """The reward of each rollout."""
        return [rollout.grade.reward for rollout in self.rollouts]


def problem_of(settings: Settings, step: int, number: int) -> Problem:
    """Return the problem that a group of a step is about: the same in every run with this seed."""
    random = Random(f"{settings.seed}/train/{step}/{number}")
    return make_problem(random, random.choice(settings.events))


def encode_prompt(vocabulary: Vocabulary, problem: Problem, longest: int) -> list[int]:
    """Return the ids of a prompt. PromptTooLongError where there are more than `longest`."""
    ids = vocabulary.encode(problem.prompt)
    if len(ids) > longest:
        raise PromptTooLongError(f"the prompt has {len(ids)} tokens, and the engine takes {longest}")
    return ids


def roll_out(
    groups: Iterable[Group], sampler: Sampler, vocabulary: Vocabulary, settings: Settings, samples: int, seed: int
) -> None:
    """Fill groups with that many rollouts each, in one batch."""
    groups = list(groups)
    prompts = [vocabulary.encode(group.problem.prompt) for group in groups]
    responses = sampler.sample(
        [prompt for prompt in prompts for _ in range(samples)], torch.Generator().manual_seed(seed)
    )
    for number, group in enumerate(groups):
        for response in responses[number * samples : (number + 1) * samples]:
            group.rollouts.append(judge(group.problem, prompts[number], response, vocabulary, settings))


def judge(
    problem: Problem, prompt_ids: list[int], response: Response, vocabulary: Vocabulary, settings: Settings
) -> Rollout:
    """Put a text and its grade beside what was sampled."""
    text = vocabulary.decode(response.ids)
    return Rollout(prompt_ids, response, text, grade(problem, text, settings.checking))


def arrival(group: Group, settings: Settings) -> int:
    """Return the step at which the last response of a group is done."""
    speed = Random(f"{settings.seed}/speed/{group.step}/{group.number}").lognormvariate(0, settings.jitter)
    longest = max(len(rollout.response.ids) for rollout in group.rollouts)
    return group.step + int(longest / (settings.tokens_per_step * speed))
