"""The Tinker cookbook: a logger, and a hook into its rollouts.

`RecorderLogger` is an `ml_log` logger. `Recording.dataset` wraps a data set and records each of its groups after
grading, in `EnvGroupBuilder.compute_group_rewards`: only there does the cookbook expose whole trajectories with their
rewards. This module imports the cookbook.
"""

import functools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import chz
from tinker_cookbook.rl.data_processing import compute_advantages
from tinker_cookbook.rl.rollout_strategy import FailFast, RolloutStrategy
from tinker_cookbook.rl.types import EnvGroupBuilder, RLDataset, RLDatasetBuilder, TrajectoryGroup
from tinker_cookbook.utils import ml_log

from rolloupe.record.arguments import Decode
from rolloupe.record.recorder import Recorder

__all__ = ["RecorderLogger", "Recording"]

About = Callable[[Any], Mapping[str, object]]
"""Returns more arguments of `Recorder.sample` for an `EnvGroupBuilder`, such as `{"label": builder.answer}`."""


class RecorderLogger(ml_log.Logger):
    """A logger that records metrics and the configuration; a step is on disk when `log_metrics` returns."""

    def __init__(self, recorder: Recorder, after: Callable[[int], None] | None = None) -> None:
        self._recorder = recorder
        self._after = after

    def log_hparams(self, config: Any) -> None:
        """Record the configuration."""
        self._recorder.config(config)

    def log_metrics(self, metrics: dict[str, Any], step: int | None = None) -> None:
        """Record the metrics of a step, and end the step."""
        self._recorder.metrics(step, metrics)
        if step is not None:
            self._recorder.step_end(step)
            if self._after is not None:
                self._after(step)

    def sync(self) -> None:
        """Wait until everything is written."""
        self._recorder.flush()

    def close(self) -> None:
        """Wait until everything is written. The recorder stays open; its owner closes it."""
        self._recorder.flush()


class Recording:
    """Records the rollouts of a cookbook training loop.

    Args:
        recorder: the recorder. A process that runs rollouts remotely opens its own recorder on the same folder.
        decode: turns token ids into text, such as `tokenizer.decode`; without it, samples have no text.
        about: returns more arguments of `Recorder.sample` for an `EnvGroupBuilder`, such as its `label`.
        step: the first training step.
    """

    def __init__(
        self, recorder: Recorder, *, decode: Decode | None = None, about: About | None = None, step: int = 0
    ) -> None:
        self.recorder, self._decode, self._about = recorder, decode, about
        self._step = step
        """The current step: evaluations do not report theirs."""
        self._is_elsewhere = False

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (self.recorder.path, self._decode, self._about, self._step)

    def to_dict(self) -> dict[str, str]:
        """Return the fields that a configuration shows."""
        return {"path": self.recorder.path}

    def logger(self) -> RecorderLogger:
        """Return a logger to add to an `ml_log.MultiplexLogger`."""
        return RecorderLogger(self.recorder, lambda step: self._advance(step + 1))

    def _advance(self, step: int) -> None:
        self._step = max(self._step, step)

    @contextmanager
    def logging(self) -> Iterator[None]:
        """Add this logger to those that `ml_log.setup_logging` returns in the block: `rl.train.main` takes none."""
        former = ml_log.setup_logging

        @functools.wraps(former)
        def setup(*args: Any, **kwargs: Any) -> Any:
            our_logger = self.logger()
            if kwargs.get("config") is not None:
                our_logger.log_hparams(kwargs["config"])
            their_logger = former(*args, **kwargs)
            if not isinstance(their_logger, ml_log.MultiplexLogger):
                return ml_log.MultiplexLogger([their_logger, our_logger])
            their_logger.loggers.append(our_logger)
            return their_logger

        ml_log.setup_logging = setup
        try:
            yield
        finally:
            ml_log.setup_logging = former

    def dataset(self, dataset: RLDataset, split: str = "train") -> RLDataset:
        """Return the data set with its groups recorded under a split."""
        return _Dataset(self, dataset, split)

    def dataset_builder(self, builder: RLDatasetBuilder) -> RLDatasetBuilder:
        """Return a builder that records its data sets: the training set as `train`, the test set as `eval/test`."""
        return _DatasetBuilder(builder=builder, recording=self)

    def strategy(self, strategy: RolloutStrategy | None = None) -> RolloutStrategy:
        """Return a rollout strategy that records the rollouts it gives up or retries as errors."""
        return _Strategy(strategy or FailFast())

    def group(
        self,
        place: Mapping[str, Any],
        builder: EnvGroupBuilder,
        trajectories: Sequence[Any],
        rewards: Sequence[tuple[float, Mapping[str, Any]]],
    ) -> None:
        """Record a graded group."""
        finals, metrics = [reward for reward, _ in rewards], [dict(numbers) for _, numbers in rewards]
        group = TrajectoryGroup(list(trajectories), finals, metrics)
        (advantages,) = compute_advantages([group])
        graded = {
            "trajectories": trajectories, "final_rewards": finals, "metrics": metrics,
            "advantages": advantages.tolist(), "tags": builder.logging_tags(),
        }  # fmt: skip
        about: dict[str, Any] = dict(self._about(builder)) if self._about else {}
        self.recorder.group(graded, decode=self._decode, **self._at(place), **about)
        if self._is_elsewhere:  # the process that ends the step does not know this process
            self.recorder.flush()

    def failed(self, place: Mapping[str, Any], errors: Sequence[object]) -> None:
        """Record failed rollouts of a group."""
        for number, error in enumerate(errors):
            message = error if isinstance(error, BaseException) else f"{error}"
            self.recorder.error(error=message, index=f"error-{number}", **self._at(place))

    def _at(self, place: Mapping[str, Any]) -> dict[str, Any]:
        return {**place, "step": self._step if place["step"] is None else place["step"]}

    def batch(self, builders: Sequence[EnvGroupBuilder], split: str, index: int) -> list[EnvGroupBuilder]:
        """Return the recorded builders of a batch. In training, the batch index is the step."""
        is_training = split == "train"
        if is_training:
            self._advance(index)
        step = index if is_training else None
        return [
            _Group(self, builder, {"split": split, "step": step, "group": at if is_training else f"{index}.{at}"})
            for at, builder in enumerate(builders)
        ]


_recorders: dict[tuple[str, int], Recorder] = {}
"""By path and process, the recorders of processes that run rollouts remotely."""


def _reopen(path: str, decode: Decode | None, about: About | None, step: int) -> Recording:
    key = path, os.getpid()
    if key not in _recorders:
        _recorders[key] = Recorder(path, producer=f"rollouts{os.getpid()}", code=None)
    recording = Recording(_recorders[key], decode=decode, about=about, step=step)
    recording._is_elsewhere = True  # noqa: SLF001 (its own)
    return recording


class _Group(EnvGroupBuilder):
    """A builder that records its group after grading."""

    def __init__(self, recording: Recording, builder: EnvGroupBuilder, place: Mapping[str, Any]) -> None:
        self._recording, self._builder, self._place = recording, builder, place

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._builder, name)

    async def make_envs(self) -> Any:
        return await self._builder.make_envs()

    async def compute_group_rewards(self, trajectory_group: Any, env_group: Any) -> Any:
        rewards = await self._builder.compute_group_rewards(trajectory_group, env_group)
        self._recording.recorder.safely(self._recording.group, self._place, self._builder, trajectory_group, rewards)
        return rewards

    async def cleanup(self) -> None:
        await self._builder.cleanup()

    def logging_tags(self) -> Any:
        return self._builder.logging_tags()

    def failed(self, errors: Sequence[object]) -> None:
        self._recording.recorder.safely(self._recording.failed, self._place, errors)


class _Dataset(RLDataset):
    def __init__(self, recording: Recording, dataset: RLDataset, split: str) -> None:
        self._recording, self._dataset, self._split = recording, dataset, split

    def get_batch(self, index: int) -> list[EnvGroupBuilder]:
        return self._recording.batch(self._dataset.get_batch(index), self._split, index)

    def __len__(self) -> int:
        return len(self._dataset)


@chz.chz
class _DatasetBuilder(RLDatasetBuilder):
    builder: RLDatasetBuilder
    recording: Recording

    async def __call__(self) -> Any:
        train, test = await self.builder()
        recorded = None if test is None else self.recording.dataset(test, "eval/test")
        return self.recording.dataset(train), recorded


class _Strategy(RolloutStrategy):
    def __init__(self, strategy: RolloutStrategy) -> None:
        self._strategy = strategy

    @property
    def catches_group_errors(self) -> bool:
        return bool(self._strategy.catches_group_errors)

    async def execute(self, env_group_builder: EnvGroupBuilder, policy: Any) -> Any:
        group = env_group_builder if isinstance(env_group_builder, _Group) else None
        try:
            result = await self._strategy.execute(env_group_builder, policy)
        except Exception as error:
            if group is not None:
                group.failed([error])
            raise
        if group is not None and result.errors:
            group.failed([f"{error.error_type}: {error.error_message}" for error in result.errors])
        return result
