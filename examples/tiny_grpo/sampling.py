"""The sampler: an inference engine in small. It has its own copy of the weights, in bfloat16, and falls behind.

That is why its log-probs differ from the trainer's, as they do in every real set-up: the weights are rounded, they are
those of an earlier step by the time that a response is trained on, and the arithmetic takes another path (a cache).
"""

import copy
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model import Cache, Transformer

Floats = NDArray[np.float32]


class Response(NamedTuple):
    """What was sampled for a prompt. `logprobs` are those of the distribution that was sampled from."""

    ids: list[int]
    logprobs: Floats
    finished: bool
    """False where it was cut off before it ended."""


class Sampler:
    """Draws responses with rounded weights of the step `version`."""

    def __init__(self, learner: Transformer, *, end: int, temperature: float, longest: int) -> None:
        self.model = copy.deepcopy(learner).requires_grad_(requires_grad=False)
        self.version, self.end, self.temperature, self.longest = -1, end, temperature, longest

    def update(self, learner: Transformer, version: int) -> None:
        """Take over the learner's weights, rounded to bfloat16 as an inference engine would hold them."""
        for mine, theirs in zip(self.model.parameters(), learner.parameters(), strict=True):
            mine.copy_(theirs.detach().to(torch.bfloat16))
        self.version = version

    @torch.inference_mode()
    def sample(self, prompts: list[list[int]], generator: torch.Generator) -> list[Response]:
        """Draw one response for each prompt, all at once."""
        rows, width = len(prompts), max(map(len, prompts))
        ids = torch.zeros((rows, width), dtype=torch.long)
        real = torch.zeros((rows, width + self.longest), dtype=torch.bool)
        real[:, width:] = True
        for row, prompt in enumerate(prompts):
            ids[row, width - len(prompt) :] = torch.tensor(prompt)
            real[row, width - len(prompt) : width] = True
        lengths = real[:, :width].sum(1, keepdim=True)
        places = (torch.arange(width) - width + lengths).clamp(min=0)
        allowed = real[:, None, None, :width] & torch.ones((width, width), dtype=torch.bool).tril()
        allowed = allowed | torch.eye(width, dtype=torch.bool)  # padding looks at itself: no row of all False
        cache = Cache(self.model.shape, rows)
        logits = self._next(ids, places, allowed, cache)
        drawn, logprobs, going = [], [], torch.ones(rows, dtype=torch.bool)
        for position in range(self.longest):
            token, logprob = self._draw(logits, generator)
            drawn.append(token)
            logprobs.append(logprob)
            going &= token != self.end
            if not going.any() or position == self.longest - 1:
                break
            seen = real[:, None, None, : width + position + 1]
            logits = self._next(token[:, None], lengths + position, seen, cache)
        return self._cut(torch.stack(drawn, 1), torch.stack(logprobs, 1))

    def _next(self, ids: Tensor, places: Tensor, allowed: Tensor, cache: Cache) -> Tensor:
        return self.model.predict(self.model.read(ids, places, allowed, cache)[:, -1])

    def _draw(self, logits: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        scores = torch.log_softmax(logits / self.temperature, -1)
        token = torch.multinomial(scores.exp(), 1, generator=generator)
        return token[:, 0], scores.gather(1, token)[:, 0]

    def _cut(self, drawn: Tensor, logprobs: Tensor) -> list[Response]:
        """Cut each row after its end."""
        responses = []
        for ids, row in zip(drawn.tolist(), logprobs.numpy(), strict=True):
            finished = self.end in ids
            stop = ids.index(self.end) + 1 if finished else len(ids)
            responses.append(Response(ids[:stop], row[:stop].copy(), finished))
        return responses
