"""A small decoder-only transformer: as plain as one can be, and fast enough on two cores."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional


@dataclass(frozen=True, slots=True)
class Shape:
    """The size of a model."""

    vocabulary: int
    width: int = 128
    layers: int = 3
    heads: int = 4
    context: int = 208
    """Prompt and response together, in tokens."""


def know_numbers(model: "Transformer", numbers: dict[int, int]) -> None:
    """Start the embedding of each number (value: token id) as points on circles, so that close numbers are alike.

    From random vectors the model would have to learn every sum by heart, which takes far more than a moment.
    """
    periods = torch.tensor([2.0, 3.0, 4.0, 5.0, 7.0, 10.0, 15.0, 22.0, 33.0, 50.0, 75.0, 110.0])
    with torch.no_grad():
        for value, token in numbers.items():
            turn = 2 * torch.pi * value / periods
            model.embed.weight[token, : 2 * len(periods)] = torch.cat((turn.cos(), turn.sin())) / 4


class Cache:
    """Keys and values of what was read so far: two tensors (layers, rows, heads, context, width of a head)."""

    def __init__(self, shape: Shape, rows: int) -> None:
        size = (shape.layers, rows, shape.heads, shape.context, shape.width // shape.heads)
        self.keys, self.values = torch.zeros(size), torch.zeros(size)
        self.filled = 0

    def extend(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Append what is new in a layer, and return all of it. `filled` moves on after the last layer."""
        stop = self.filled + keys.shape[2]
        self.keys[layer, :, :, self.filled : stop] = keys
        self.values[layer, :, :, self.filled : stop] = values
        return self.keys[layer, :, :, :stop], self.values[layer, :, :, :stop]


def angles(places: Tensor, width: int) -> Tensor:
    """Return by how much to rotate each pair of numbers (rows, 1, tokens, width / 2): rotary positions."""
    speeds = 1000.0 ** -(torch.arange(0, width, 2) / width)
    return (places[..., None] * speeds)[:, None]


def rotate(x: Tensor, turns: Tensor) -> Tensor:
    """Rotate pairs (first half, second half) of queries or keys (rows, heads, tokens, width)."""
    first, second = x.chunk(2, -1)
    cos, sin = turns.cos(), turns.sin()
    return torch.cat((first * cos - second * sin, first * sin + second * cos), -1)


class Block(nn.Module):
    """Attention and a small network, each after a normalisation and added to what came in."""

    def __init__(self, shape: Shape, layer: int) -> None:
        super().__init__()
        self.layer, self.heads = layer, shape.heads
        self.before_attention, self.before_network = nn.LayerNorm(shape.width), nn.LayerNorm(shape.width)
        self.qkv = nn.Linear(shape.width, 3 * shape.width, bias=False)
        self.out = nn.Linear(shape.width, shape.width, bias=False)
        self.up = nn.Linear(shape.width, 4 * shape.width)
        self.down = nn.Linear(4 * shape.width, shape.width)

    def forward(self, x: Tensor, turns: Tensor, allowed: Tensor | None, cache: Cache | None) -> Tensor:
        """Map (rows, tokens, width) to the same. `allowed` (rows, 1, tokens, all tokens): who may look at whom."""
        rows, tokens, width = x.shape
        split = (rows, tokens, 3, self.heads, width // self.heads)
        query, key, value = self.qkv(self.before_attention(x)).view(split).permute(2, 0, 3, 1, 4)
        query, key = rotate(query, turns), rotate(key, turns)
        if cache is not None:
            key, value = cache.extend(self.layer, key, value)
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=allowed, is_causal=allowed is None)
        x = x + self.out(mixed.transpose(1, 2).reshape(rows, tokens, width))
        return x + self.down(functional.gelu(self.up(self.before_network(x))))


class Transformer(nn.Module):
    """Token ids in, a score for each possible next token out."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.embed = nn.Embedding(shape.vocabulary, shape.width)
        self.blocks = nn.ModuleList(Block(shape, layer) for layer in range(shape.layers))
        self.final = nn.LayerNorm(shape.width)
        nn.init.normal_(self.embed.weight, std=0.05)

    def read(
        self, ids: Tensor, places: Tensor | None = None, allowed: Tensor | None = None, cache: Cache | None = None
    ) -> Tensor:
        """Return what is thought at each of the ids (rows, tokens): (rows, tokens, width).

        `places` are positions where they do not count from 0. Without `allowed` each token sees those before it: right
        for rows that are padded at their end.
        """
        where = torch.arange(ids.shape[1]).expand_as(ids) if places is None else places
        x, turns = self.embed(ids), angles(where, self.shape.width // self.shape.heads)
        for block in self.blocks:
            x = block(x, turns, allowed, cache)
        if cache is not None:
            cache.filled += ids.shape[1]
        return self.final(x)

    def predict(self, thought: Tensor) -> Tensor:
        """Return logits (..., vocabulary) of the token that follows."""
        return thought @ self.embed.weight.T

    def forward(self, ids: Tensor) -> Tensor:
        """Return logits (rows, tokens, vocabulary) for ids (rows, tokens)."""
        return self.predict(self.read(ids))
