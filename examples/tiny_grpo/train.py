"""Train a small transformer on the CPU to solve arithmetic stories, supervised and then with GRPO, and record it all.

    python examples/tiny_grpo/train.py --out runs/tiny
    rolloupe view runs/tiny                               # in another terminal, while it trains
    python examples/tiny_grpo/train.py --out runs/tiny --resume

The same seed and number of threads give the same run.
"""

import argparse
import copy
import dataclasses
import signal
import statistics
import time
from pathlib import Path
from random import Random

import torch

import checkpoints
import grpo
from model import Shape, Transformer
from pack import pack
from recording import Recording
from rollouts import Group, PromptTooLongError, arrival, encode_prompt, problem_of, roll_out
from sampling import Sampler
from settings import PRESETS, Settings
from supervised import supervise
from task import make_problem
from vocabulary import Vocabulary

DEMO_BITS = 13
"""What a packed run keeps of each number of a token series: four digits."""

EVALS = {"held_out": None, "longer": 5}
"""Evaluations by name, and how many things happen in their stories; None: as many as in training."""

TOLD_EVERY = 20
"""Of the steps of the supervised start, in which nothing is recorded for a while."""


class Training:
    """The loop. `learner` is trained, `reference` stays as supervision left it, `sampler` follows the learner."""

    def __init__(self, out: Path, settings: Settings) -> None:
        torch.set_num_threads(settings.threads)
        torch.use_deterministic_algorithms(mode=True)
        torch.manual_seed(settings.seed)
        self.settings, self.out, self.vocabulary = settings, out, Vocabulary()
        shape = Shape(len(self.vocabulary), settings.width, settings.layers, settings.heads)
        self.learner = Transformer(shape)
        self.reference = copy.deepcopy(self.learner).requires_grad_(requires_grad=False)
        self.optimiser = torch.optim.Adam(self.learner.parameters(), lr=settings.lr, betas=(0.9, 0.95))
        self.sampler = Sampler(
            self.learner,
            end=self.vocabulary.end,
            temperature=settings.temperature,
            longest=settings.longest_response,
        )
        self.coming: list[Group] = []
        """Groups that were sampled and have not arrived."""
        self.recording = Recording(out, settings, self.vocabulary)

    def begin(self) -> None:
        """Train supervised, and freeze what comes of it as the reference. What is seen meanwhile has steps below 0."""
        left = whole = self.settings.drill_steps + self.settings.sft_steps
        for loss in supervise(self.learner, self.vocabulary, self.settings):
            left -= 1
            if (whole - left) % TOLD_EVERY == 1:
                print(f"supervised start: step {whole - left} of {whole}, loss {loss:.3f}", flush=True)
            if left and left % 100 == 0:
                step = -left // 100
                self.recording.recorder.metrics(step, {"supervised/loss": loss})
                means = self.evaluate(step)
                self.recording.recorder.step_end(step)
                print(_line(step, {"loss": loss, **means}), flush=True)
        self.reference.load_state_dict(self.learner.state_dict())

    def resume(self) -> int | None:
        """Restore the last checkpoint, and return the step to go on with; None where there is no checkpoint."""
        last = self.recording.recorder.last_checkpoint()
        if last is None:
            return None
        folder = self.out / last.paths["state"]
        self.coming = checkpoints.load(
            folder, self.learner, self.reference, self.optimiser, self.vocabulary, self.settings
        )
        return int(last.extra["next_step"])

    def save(self, next_step: int) -> None:
        """Save a state from which `next_step` can be made."""
        name = f"{next_step:06}"
        place = Path("checkpoints") / name
        checkpoints.save(self.out / place, self.learner, self.reference, self.optimiser, self.coming)
        self.recording.recorder.checkpoint(
            name, step=next_step, paths={"state": place}, loop_state={"next_step": next_step}
        )

    def step(self, step: int) -> dict[str, float]:
        """Sample, take what has arrived, train on it, and record everything; returns the metrics."""
        began_s = time.monotonic()
        self.sampler.update(self.learner, step)
        sampled = self._sample(step)
        sampled_s = time.monotonic()
        kept, lost = self._arrived(step)
        metrics = self._train(step, kept) if kept else {}
        rollouts = [rollout for group in sampled for rollout in group.rollouts]
        metrics |= {
            "reward": statistics.fmean(rollout.grade.reward for rollout in rollouts),
            "groups/sampled": len(sampled),
            "groups/trained": len(kept),
            **{f"groups/{reason}": number for reason, number in lost.items()},
            "staleness": statistics.fmean(step - group.step for group in kept) if kept else 0.0,
            "time/sampling": sampled_s - began_s,
            "time/training": time.monotonic() - sampled_s,
        }
        self.recording.recorder.metrics(step, metrics)
        return metrics

    def _sample(self, step: int) -> list[Group]:
        groups = []
        for number in range(self.settings.prompts):
            group = Group(step, number, problem_of(self.settings, step, number), arrives=step)
            try:
                encode_prompt(self.vocabulary, group.problem, self.settings.longest_prompt)
            except PromptTooLongError as error:
                self.recording.failed(group, error)
            else:
                groups.append(group)
        seed = Random(f"{self.settings.seed}/sampling/{step}").getrandbits(48)
        roll_out(groups, self.sampler, self.vocabulary, self.settings, self.settings.samples, seed)
        for group in groups:
            group.arrives = arrival(group, self.settings)
            self.recording.sampled(group)
        self.coming += groups
        return groups

    def _arrived(self, step: int) -> tuple[list[Group], dict[str, int]]:
        """Take the groups that are there by now: those to train on, and how many others are discarded, by reason."""
        arrived = [group for group in self.coming if group.arrives <= step]
        self.coming = [group for group in self.coming if group.arrives > step]
        kept, lost = [], {"stale": 0, "zero_advantage": 0}
        for group in arrived:
            if step - group.step > self.settings.max_staleness:
                reason = "stale"
            elif max(group.rewards) - min(group.rewards) < 1e-6:
                reason = "zero_advantage"
            else:
                kept.append(group)
                continue
            lost[reason] += 1
            self.recording.discarded(group, reason)
        return kept, lost

    def _train(self, step: int, groups: list[Group]) -> dict[str, float]:
        settings = self.settings
        rate = settings.lr * min(1.0, (step + 1) / settings.warmup)
        for parameters in self.optimiser.param_groups:
            parameters["lr"] = rate
        rollouts = [rollout for group in groups for rollout in group.rollouts]
        advantages = [advantage for group in groups for advantage in grpo.advantages_of(group.rewards)]
        batch = grpo.collate(rollouts, advantages)
        with torch.no_grad():
            before = grpo.score(self.learner, batch, settings.temperature)
            reference = grpo.score(self.reference, batch, settings.temperature)
        mask = grpo.loss_mask(before.logprobs, batch, settings.mask_ratio)
        generator = torch.Generator().manual_seed(Random(f"{settings.seed}/minibatches/{step}").getrandbits(48))
        updates = list(grpo.train(self.learner, self.optimiser, batch, reference.logprobs, mask, settings, generator))
        for number, group in enumerate(groups):
            self.recording.trained(group, number * settings.samples, batch, before, reference, mask)
        means = {
            field.name: statistics.fmean(getattr(update, field.name) for update in updates)
            for field in dataclasses.fields(grpo.Update)
        }
        masked = 1 - (mask.sum() / batch.real.sum()).item()
        return {**means, "lr": rate, "masked_frac": masked}

    def evaluate(self, step: int) -> dict[str, float]:
        """Answer the problems of each evaluation several times, with the weights as they are before this step."""
        self.sampler.update(self.learner, step)
        means: dict[str, float] = {}
        for name, events in EVALS.items():
            random = Random(f"eval/{name}")
            groups = [
                Group(step, number, make_problem(random, events or random.choice(self.settings.events)), step)
                for number in range(self.settings.eval_problems)
            ]
            seed = Random(f"{self.settings.seed}/eval/{name}/{step}").getrandbits(48)
            roll_out(groups, self.sampler, self.vocabulary, self.settings, self.settings.eval_samples, seed)
            means |= self.recording.evaluated(name, groups)
        return means

    def run(self, first: int) -> None:
        """Make all steps from `first` on, and evaluate once more at the end."""
        settings, recorder = self.settings, self.recording.recorder
        for step in range(first, settings.steps + 1):
            means = self.evaluate(step) if step % settings.eval_every == 0 or step == settings.steps else {}
            if step < settings.steps:
                means |= self.step(step)
            else:
                for group in self.coming:
                    self.recording.discarded(group, "run_ended")
            recorder.step_end(step)
            print(_line(step, means), flush=True)
            if (step + 1) % settings.checkpoint_every == 0:
                self.save(step + 1)


def _line(step: int, means: dict[str, float]) -> str:
    shown = ("loss", "reward", "kl", "entropy", "groups/trained", "eval/held_out/correct", "eval/held_out/checks")
    return f"step {step:4}  " + "  ".join(f"{name} {means[name]:.3f}" for name in shown if name in means)


def main() -> None:
    """Read the command line and train."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("--out", type=Path, default=Path("runs/tiny_grpo"), help="the folder of the run")
    parser.add_argument("--resume", action="store_true", help="go on from the last checkpoint in --out")
    parser.add_argument("--demo", action="store_const", const="demo", default="default", dest="preset",
                        help="record less, and keep no weights: the run that comes with Rolloupe")  # fmt: skip
    parser.add_argument("--steps", type=int, help="steps of GRPO (default 90)")
    parser.add_argument("--seed", type=int, help="(default 7)")
    parser.add_argument("--threads", type=int, help="threads of torch (default 2)")
    parser.add_argument("--checking", choices=("naive", "mended"), help="how checks are paid for (default naive)")
    options = parser.parse_args()
    given = {name: getattr(options, name) for name in ("steps", "seed", "threads", "checking")}
    settings = dataclasses.replace(
        PRESETS[options.preset], **{name: value for name, value in given.items() if value is not None}
    )
    if not options.resume and (options.out / "attempts.jsonl").exists():
        parser.error(f"there is a run in {options.out} already. Next: add --resume, or name another folder with --out")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    training = Training(options.out, settings)
    is_done = False
    try:
        first = training.resume() if options.resume else None
        if first is None:
            training.begin()
            training.save(first := 0)
        training.run(first)
        is_done = True
    except KeyboardInterrupt:
        print(f"Stopped. Next: the same command with --resume, or `rolloupe view {options.out}`")
    finally:
        training.recording.recorder.close()
    if options.preset == "demo" and is_done:
        pack(options.out, DEMO_BITS)


if __name__ == "__main__":
    main()
