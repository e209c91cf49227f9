"""GRPO: advantages within groups, a clipped objective against the sampler's log-probs, and a pull to the reference.

Shapes: S samples, T tokens of the longest response; what lies past the end of a response is masked. Natural logarithms.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from model import Transformer
from rollouts import Rollout
from settings import Settings

EPSILON = 1e-4
"""Keeps the division by the standard deviation of a group finite."""


@dataclass(slots=True)
class Batch:
    """What a step trains on, as tensors (S, T), but `ids` (S, longest prompt and response) and `starts` (S)."""

    ids: Tensor
    starts: Tensor
    targets: Tensor
    sampled_logprobs: Tensor
    real: Tensor
    """True where there is a token."""
    advantages: Tensor
    """One a sample (S)."""

    def part(self, rows: Tensor) -> "Batch":
        """Return some of the samples."""
        return Batch(*(getattr(self, name)[rows] for name in Batch.__slots__))


@dataclass(slots=True)
class Scores:
    """What a model says of the tokens of a batch: log-probs and entropies, (S, T)."""

    logprobs: Tensor
    entropy: Tensor


def advantages_of(rewards: list[float]) -> list[float]:
    """Return (reward - mean) / (standard deviation + 1e-4) within a group; the deviation is the sample's, ddof 1."""
    values = torch.tensor(rewards, dtype=torch.float64)
    centred = values - values.mean()
    return (centred / (values.std() + EPSILON)).tolist()


def collate(rollouts: list[Rollout], advantages: list[float]) -> Batch:
    """Pad rollouts at their ends."""
    rows, longest = len(rollouts), max(len(rollout.response.ids) for rollout in rollouts)
    width = max(len(rollout.prompt_ids) + len(rollout.response.ids) for rollout in rollouts)
    ids, targets = torch.zeros((rows, width), dtype=torch.long), torch.zeros((rows, longest), dtype=torch.long)
    logprobs, real = torch.zeros((rows, longest)), torch.zeros((rows, longest), dtype=torch.bool)
    for row, rollout in enumerate(rollouts):
        prompt, response = rollout.prompt_ids, rollout.response
        ids[row, : len(prompt) + len(response.ids)] = torch.tensor(prompt + response.ids)
        targets[row, : len(response.ids)] = torch.tensor(response.ids)
        logprobs[row, : len(response.ids)] = torch.from_numpy(response.logprobs)
        real[row, : len(response.ids)] = True
    starts = torch.tensor([len(rollout.prompt_ids) for rollout in rollouts])
    return Batch(ids, starts, targets, logprobs, real, torch.tensor(advantages, dtype=torch.float32))


def score(model: Transformer, batch: Batch, temperature: float) -> Scores:
    """Read the responses with a model. The temperature is that of sampling, so that the log-probs can be compared."""
    hidden = model.read(batch.ids)
    where = (batch.starts[:, None] - 1 + torch.arange(batch.targets.shape[1])).clamp(max=batch.ids.shape[1] - 1)
    hidden = hidden.gather(1, where[..., None].expand(-1, -1, hidden.shape[-1]))
    logprobs = torch.log_softmax(model.predict(hidden) / temperature, -1)
    entropy = -(logprobs.exp() * logprobs).sum(-1)
    return Scores(logprobs.gather(-1, batch.targets[..., None])[..., 0], entropy)


def loss_mask(trainer_logprobs: Tensor, batch: Batch, most: float) -> Tensor:
    """Return 1.0 for tokens to train on: real ones, on which sampler and trainer agree within a factor (IcePop)."""
    log_ratio = trainer_logprobs - batch.sampled_logprobs
    return (batch.real & (log_ratio.abs() <= torch.tensor(most).log())).float()


@dataclass(frozen=True, slots=True)
class Update:
    """What one minibatch did: means over its tokens."""

    loss: float
    kl: float
    entropy: float
    clip_frac: float
    grad_norm: float


def train(
    model: Transformer,
    optimiser: torch.optim.Optimizer,
    batch: Batch,
    reference: Tensor,
    mask: Tensor,
    settings: Settings,
    generator: torch.Generator,
) -> Iterator[Update]:
    """Make one optimiser step a minibatch. `reference` holds the log-probs of the frozen model (S, T)."""
    order = torch.randperm(len(batch.starts), generator=generator)
    for rows in order.chunk(settings.minibatches):
        part, kept = batch.part(rows), mask[rows]
        scores = score(model, part, settings.temperature)
        tokens = kept.sum().clamp(min=1)
        objective, clipped = _clipped_objective(scores.logprobs, part, settings)
        away = reference[rows] - scores.logprobs
        kl = (away.exp() - 1 - away) * kept  # k3: never negative, and its gradient is that of the KL on policy
        loss = ((settings.kl_weight * kl - objective) * kept).sum() / tokens
        optimiser.zero_grad()
        torch.autograd.backward(loss)
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), settings.max_grad_norm)
        optimiser.step()
        kl_mean, entropy, clip_frac = (
            (value.detach() * kept).sum().item() / tokens.item() for value in (kl, scores.entropy, clipped)
        )
        yield Update(loss.item(), kl_mean, entropy, clip_frac, norm.item())


def _clipped_objective(logprobs: Tensor, batch: Batch, settings: Settings) -> tuple[Tensor, Tensor]:
    """Return PPO's objective by token, and 1.0 where it was clipped; the upper bound is the higher one, as in DAPO."""
    ratio = (logprobs - batch.sampled_logprobs).exp()
    advantage = batch.advantages[:, None]
    bounded = ratio.clamp(1 - settings.clip_low, 1 + settings.clip_high)
    objective = torch.minimum(ratio * advantage, bounded * advantage)
    return objective, (bounded * advantage < ratio * advantage).float()
