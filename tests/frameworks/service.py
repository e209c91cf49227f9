"""A service for the cookbook's own training loop: it samples digits and trains nothing, all in this process."""

import itertools
import math
import random
from types import SimpleNamespace
from typing import Any, Self

from tests.frameworks.support import needs

tinker = needs("tinker")

DIGITS, STOP = 10, 12


class Future:
    """What the service promises, and has already."""

    def __init__(self, value: Any) -> None:
        self._value = value

    async def result_async(self) -> Any:
        return self._value


class SamplingClient:
    """Guesses one digit, and stops."""

    async def sample_async(self, **_: Any) -> Any:
        tokens = [random.randrange(DIGITS), STOP]
        sequence = SimpleNamespace(tokens=tokens, logprobs=[-math.log(DIGITS), 0.0], stop_reason="stop")
        return SimpleNamespace(sequences=[sequence])


class TrainingClient:
    """Finds every token a little less likely than the sampler did."""

    def __init__(self) -> None:
        self._saved = itertools.count()

    async def forward_backward_async(self, data: Any, **_: Any) -> Future:
        found = []
        for datum in data:
            sampled = datum.loss_fn_inputs["logprobs"].to_torch()
            found.append({"logprobs": tinker.TensorData.from_torch(sampled - 0.01)})
        return Future(tinker.ForwardBackwardOutput(loss_fn_output_type="x", loss_fn_outputs=found, metrics={}))

    async def optim_step_async(self, *_: Any, **__: Any) -> Future:
        return Future(SimpleNamespace(metrics={"optim/norm": 0.5}))

    async def save_state_async(self, name: str, **_: Any) -> Future:
        return Future(SimpleNamespace(path=f"tinker://state/{name}"))

    async def save_weights_for_sampler_async(self, name: str, **_: Any) -> Future:
        return Future(SimpleNamespace(path=f"tinker://sampler/{name}"))

    async def save_weights_and_get_sampling_client_async(self, *_: Any, **__: Any) -> SamplingClient:
        return SamplingClient()

    def create_sampling_client(self, _: str) -> SamplingClient:
        return SamplingClient()


class ServiceClient:
    """Stands for `tinker.ServiceClient`."""

    def __init__(self, **_: Any) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    async def create_lora_training_client_async(self, *_: Any, **__: Any) -> TrainingClient:
        return TrainingClient()


class Tokenizer:
    """Letters and their places; what the cookbook needs of a tokenizer."""

    letters = "0123456789+=?"

    def decode(self, tokens: Any, **_: Any) -> str:
        return "".join(self.letters[int(token)] for token in tokens)
