"""What of the training goes into the recorder: all calls to it that say something of rollouts are here."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rolloupe
from grpo import Batch, Scores
from rewards import CHECK, CORRECT, FORMAT, MOST_CHECKS, REWARD_RANGE, Grade
from rollouts import Group, Rollout
from settings import Settings
from vocabulary import Vocabulary

METRIC_RANGES = {
    "correct": (0.0, CORRECT),
    "format": (0.0, FORMAT),
    "checking": (0.0, CHECK * MOST_CHECKS),
    "false_sums": (4.0, 0.0),  # fewer is better
}


class Recording:
    """One run of this example, recorded."""

    def __init__(self, path: Path, settings: Settings, vocabulary: Vocabulary) -> None:
        self.recorder = rolloupe.Recorder(
            path,
            config={"settings": dataclasses.asdict(settings), "vocabulary": len(vocabulary)},
            reward_range=REWARD_RANGE,
            metric_ranges=METRIC_RANGES,
            code=Path(__file__).parent,
        )
        self.settings, self.vocabulary = settings, vocabulary

    def sampled(self, group: Group) -> None:
        """Record a group as it comes from the sampler: advantages and the trainer's numbers are not known yet."""
        for index, rollout in enumerate(group.rollouts):
            rollout.uid = self._sample(group, index, rollout, "train", with_series=self._keeps_series(group))

    def evaluated(self, name: str, groups: list[Group]) -> dict[str, float]:
        """Record an evaluation, and return its means."""
        for group in groups:
            for index, rollout in enumerate(group.rollouts):
                self._sample(group, index, rollout, f"eval/{name}", with_series=False)
        means = {f"eval/{name}/{key}": value for key, value in evaluation_of(groups).items()}
        self.recorder.metrics(groups[0].step, means)
        return means

    def failed(self, group: Group, error: Exception) -> None:
        """Record a group that there is no rollout of."""
        self.recorder.error(step=group.step, group=group.name, error=error, prompt=group.problem.prompt)

    def discarded(self, group: Group, reason: str) -> None:
        """Record that a group is not trained on."""
        for rollout in group.rollouts:
            self.recorder.discard(rollout.uid, reason)

    def trained(self, group: Group, first: int, batch: Batch, scores: Scores, reference: Scores, mask: Any) -> None:
        """Record what the trainer found on a group, which begins at row `first` of the batch."""
        for row, rollout in enumerate(group.rollouts, first):
            length = len(rollout.response.ids)
            advantage, logprobs = batch.advantages[row].item(), _row(scores.logprobs, row, length)
            series = {
                "trainer_logprobs": logprobs,
                "ref_logprobs": _row(reference.logprobs, row, length),
                "entropy": _row(scores.entropy, row, length),
                "advantages": np.full(length, advantage, np.float32),
                "loss_mask": _row(mask, row, length),
                "importance_ratio": np.exp(logprobs - rollout.response.logprobs),
            }
            self.recorder.annotate(
                rollout.uid, advantage=advantage, series=series if self._keeps_series(group) else None
            )

    def _keeps_series(self, group: Group) -> bool:
        return group.number < self.settings.series_groups

    def _sample(self, group: Group, index: int, rollout: Rollout, split: str, *, with_series: bool) -> str:
        response = rollout.response
        return self.recorder.sample(
            uid=f"{split}/{group.step}/{group.name}/{index}",
            step=group.step,
            split=split,
            group=group.name,
            index=index,
            prompt=group.problem.prompt,
            response=rollout.text,
            label=str(group.problem.answer),
            reward=rollout.grade.reward,
            status="completed" if response.finished else "truncated",
            env=f"{len(group.problem.steps)}_events",
            metrics=sample_metrics(rollout.grade),
            prompt_tokens=len(rollout.prompt_ids),
            response_tokens=len(response.ids),
            tokens=self.vocabulary.strings(response.ids) if with_series else None,
            token_ids=np.asarray(rollout.prompt_ids + response.ids, np.int32) if with_series else None,
            series={"logprobs": response.logprobs} if with_series else None,
        )


def sample_metrics(grade: Grade) -> dict[str, float]:
    """Return the parts of the reward, and what the reward does not look at."""
    return {name: float(value) for name, value in dataclasses.asdict(grade).items()}


def evaluation_of(groups: list[Group]) -> dict[str, float]:
    """Return means over all samples, and how many problems were solved by at least one of theirs."""
    grades = [rollout.grade for group in groups for rollout in group.rollouts]
    solved = [any(rollout.grade.correct for rollout in group.rollouts) for group in groups]
    return {
        "correct": sum(grade.correct for grade in grades) / len(grades),
        f"pass@{len(groups[0].rollouts)}": sum(solved) / len(solved),
        "reward": sum(grade.reward for grade in grades) / len(grades),
        "checks": sum(grade.checks for grade in grades) / len(grades),
        "honest_checks": sum(grade.honest_checks for grade in grades) / len(grades),
    }


def _row(values: Any, row: int, length: int) -> NDArray[np.float32]:
    """Return the response's part of a row of a tensor (S, T)."""
    found: NDArray[np.float32] = values[row, :length].numpy()
    return found
