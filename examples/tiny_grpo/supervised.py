"""A moment of supervised training: the model learns to talk like the teacher, and is as sloppy as the teacher."""

from collections.abc import Iterator
from random import Random

import torch
from torch.nn import functional

from model import Transformer, know_numbers
from settings import Settings
from task import demonstrate, make_problem, make_sum
from vocabulary import Vocabulary

IGNORED = -100
"""What `cross_entropy` leaves out: prompts and padding."""


def supervise(model: Transformer, vocabulary: Vocabulary, settings: Settings) -> Iterator[float]:
    """Train the model in place, on bare sums and then on stories too; yields the loss of each step in nats a token."""
    random = Random(f"{settings.seed}/supervised")
    know_numbers(model, vocabulary.numbers)
    optimiser = torch.optim.AdamW(model.parameters(), lr=settings.sft_lr, betas=(0.9, 0.98), weight_decay=0.01)
    steps = settings.drill_steps + settings.sft_steps
    for step in range(steps):
        for group in optimiser.param_groups:
            group["lr"] = settings.sft_lr * min((step + 1) / 20, 1.02 - step / steps)
        loss = _loss(model, *_sums(random, vocabulary, settings))
        if step >= settings.drill_steps:
            loss = 0.2 * loss + _loss(model, *_stories(random, vocabulary, settings))
        optimiser.zero_grad()
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(model.parameters(), settings.max_grad_norm)
        optimiser.step()
        yield loss.item()


def _loss(model: Transformer, ids: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return functional.cross_entropy(model(ids).flatten(0, 1), targets.flatten(), ignore_index=IGNORED)


def _sums(random: Random, vocabulary: Vocabulary, settings: Settings) -> tuple[torch.Tensor, torch.Tensor]:
    """Return ids and what should follow each, (rows, tokens): sums without a story, and only their results count."""
    rows = [vocabulary.encode(f" {make_sum(random)}.") for _ in range(settings.drill_batch)]
    width = max(map(len, rows))
    ids = torch.tensor([[vocabulary.pad] * (width - len(row)) + row for row in rows])
    targets = torch.full_like(ids, IGNORED)
    targets[:, -3] = ids[:, -2]
    return ids, targets


def _stories(random: Random, vocabulary: Vocabulary, settings: Settings) -> tuple[torch.Tensor, torch.Tensor]:
    """Return ids and what should follow each, both (rows, tokens): stories with the teacher's solutions."""
    rows = []
    for _ in range(settings.sft_batch):
        problem = make_problem(random, random.choice(settings.events))
        prompt = vocabulary.encode(problem.prompt)
        response = vocabulary.encode(demonstrate(problem, random, settings.teacher))
        rows.append((prompt, [*response, vocabulary.end]))
    width = max(len(prompt) + len(response) for prompt, response in rows)
    ids = torch.full((len(rows), width), vocabulary.pad)
    targets = torch.full((len(rows), width), IGNORED)
    for row, (prompt, response) in enumerate(rows):
        stop = len(prompt) + len(response)
        ids[row, :stop] = torch.tensor(prompt + response)
        targets[row, len(prompt) - 1 : stop - 1] = torch.tensor(response)
    return ids[:, :-1], targets[:, :-1]
