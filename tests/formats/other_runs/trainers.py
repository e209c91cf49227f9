"""Runs of verl, TRL, ms-swift, slime and miles."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.formats.other_runs.writing import ANSWERS, EACH, PROMPTS, REWARDS, Holds, asked, case, chat, lines, places
from tests.formats.reading.pickles.support import archive, dumps


def of_verl(step: int, **more: Any) -> list[dict[str, Any]]:
    """Rows of a step."""
    return [
        {
            "input": f"system\nYou are helpful.\nuser\n{asked(prompt, step)}\nassistant\n", "output": ANSWERS[sample],
            "score": REWARDS[sample], "step": step, **more,
        }
        for prompt, sample in places()
    ]  # fmt: skip


@case(Holds("verl", 6, 24))
def verl_0_4_with_a_column_of_its_own(folder: Path) -> None:
    """No ground truth, no request id; a reward function that returns accuracies and predictions."""
    for step in (10, 250):
        rows = [row | {"acc": row["score"] > 0.5, "pred": None} for row in of_verl(step)]
        lines(folder / f"my-experiment/generations/{step}.jsonl", rows)


@case(Holds("verl", 3, 12))
def verl_fork_with_feedback_and_steps(folder: Path) -> None:
    """A fork adds feedback and a list of steps."""
    more = {"incorrect_format": 0, "feedback": "none", "steps": ["a", "b"], "gts": None, "request_id": "r"}
    lines(folder / "dump/7.jsonl", of_verl(7, **more))


@case(Holds("verl", 3, 12, 1.0))
def verl_with_scores_that_are_nan(folder: Path) -> None:
    """Half of the scores are not numbers."""
    rows = [row | {"score": 1.0 if number % 2 else float("nan")} for number, row in enumerate(of_verl(3, gts="4"))]
    lines(folder / "rollout/3.jsonl", rows)


@case(Holds("verl", 3, 15, 0.6))
def verl_v1_whose_episodes_have_several_outputs(folder: Path) -> None:
    """Sorted by uid; the first episode of each prompt has two outputs with the episode's score."""
    rows = []
    for prompt, sample in places():
        for output in range(2 if sample == 0 else 1):
            row = of_verl(2)[prompt * EACH + sample]
            rows.append(row | {"gts": "4", "uid": f"9f3c{prompt}-ab_{sample}_{output}"})
    lines(folder / "v1/rollouts/2.jsonl", sorted(rows, key=lambda row: row["uid"]))


@case(Holds("verl", 3, 3, 0.5))
def verl_with_one_sample_for_each_prompt(folder: Path) -> None:
    """With n = 1, each row is a group."""
    rows = [of_verl(1)[prompt * EACH + prompt] | {"step": 1} for prompt in range(PROMPTS)]
    lines(folder / "n1/1.jsonl", rows)


@case(Holds("verl", 6, 24))
def verl_validation_alone(folder: Path) -> None:
    """`validation_data_dir`, from step 0."""
    for step in (0, 5):
        lines(folder / f"val_samples/{step}.jsonl", of_verl(step, reward=1.0, data_source="aime"))


def of_trl(path: Path, step: int, prompts: list[Any], completions: list[Any], **more: list[Any]) -> None:
    """The completions of a step, with pandas' metadata left out."""
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = {"step": [step] * len(prompts), "prompt": prompts, "completion": completions, **more}
    pq.write_table(pa.table(columns), path)


@case(Holds("trl", 6, 24, 1.25))
def trl_with_messages_tools_and_two_functions(folder: Path) -> None:
    """Conversations with calls of tools, functions that may give nothing, extra columns of other types."""
    for step in (100, 12_345):
        call = [{"type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}]
        prompts = [chat(asked(prompt, step)) for prompt, _ in places()]
        completions = [
            [
                {"role": "assistant", "content": ANSWERS[sample], "tool_calls": call, "name": None},
                {"role": "tool", "content": "4", "tool_calls": None, "name": "add"},
            ]
            for _, sample in places()
        ]
        of_trl(
            folder / f"grpo-out/completions/completions_{step:05d}.parquet", step, prompts, completions,
            get_reward=[REWARDS[sample] for _, sample in places()],
            length_reward=[0.75] * len(places()),
            solution=[f"{prompt}" for prompt, _ in places()], advantage=[0.0] * len(places()),
        )  # fmt: skip


@case(Holds("trl", 3, 12))
def trl_one_function_and_texts(folder: Path) -> None:
    """Templated texts, one function."""
    prompts = [f"<|im_start|>user\n{asked(prompt)}<|im_end|>\n<|im_start|>assistant\n" for prompt, _ in places()]
    of_trl(
        folder / "Qwen-GRPO/completions/completions_00001.parquet", 1, prompts, [ANSWERS[s] for _, s in places()],
        correctness_reward_func=[REWARDS[sample] for _, sample in places()], advantage=[0.1] * len(places()),
    )  # fmt: skip


@case(Holds("ms_swift", 6, 24))
def ms_swift_with_steps_as_text(folder: Path) -> None:
    """Two logs; step as a text; columns of its own."""
    logs = [
        {
            "gen_step": [step] * 12, "step": [str(step)] * 12,
            "prompt": [asked(prompt, step) for prompt, _ in places()],
            "completion": [ANSWERS[sample] for _, sample in places()],
            "MathAccuracy": [REWARDS[sample] for _, sample in places()], "advantages": [0.5] * 12,
            "entropy": [None] * 12,
        }
        for step in (1, 2)
    ]  # fmt: skip
    lines(folder / "output/v3-20260101-1200/completions.jsonl", logs)


@case(Holds("trl", 16, 44))
def trl_with_an_evaluation_in_place_of_a_step(folder: Path) -> None:
    """Two steps of training and an evaluation that overwrote a third: groups of another size."""
    for step in (10, 20, 30):
        each = [*places(), *((prompt, sample) for prompt, sample in places() if step == 20 and sample < 0)]
        if step == 20:
            each = [(prompt, sample) for prompt in range(10) for sample in (2, 3)]
        of_trl(
            folder / f"ckpt/completions/completions_{step:05d}.parquet", step,
            [asked(prompt, step) for prompt, _ in each], [ANSWERS[sample] for _, sample in each],
            reward=[REWARDS[sample] for _, sample in each], advantage=[0.0] * len(each),
        )  # fmt: skip


@case(Holds("ms_swift", 6, 24))
def ms_swift_with_megatron(folder: Path) -> None:
    """The step is `gen_step` alone."""
    logs = [
        {
            "gen_step": [step] * 12, "prompt": [asked(prompt, step) for prompt, _ in places()],
            "completion": [ANSWERS[sample] for _, sample in places()],
            "Countdown": [REWARDS[sample] for _, sample in places()], "advantages": [0.5] * 12,
        }
        for step in (0, 4)
    ]  # fmt: skip
    lines(folder / "megatron_output/v0-20260101-1200/completions.jsonl", logs)


@case(Holds("ms_swift", 6, 24))
def ms_swift_with_ray(folder: Path) -> None:
    """A line for each sample, with the sum of the reward functions."""
    rows = [
        {
            "gen_step": step, "prompt": asked(prompt, step), "completion": ANSWERS[sample],
            "reward": REWARDS[sample],
        }
        for step in (0, 1) for prompt, sample in places()
    ]  # fmt: skip
    lines(folder / "ray/v1-x/completions.jsonl", rows)


def of_slime(rollout: int, **more: Any) -> list[dict[str, Any]]:
    """The samples of a dump."""
    return [
        {
            "group_index": rollout * PROMPTS + prompt, "index": (rollout * PROMPTS + prompt) * EACH + sample,
            "prompt": chat(asked(prompt)), "tokens": [1, 2, 3, 4, 5], "response": ANSWERS[sample],
            "response_length": 3, "label": "4", "reward": REWARDS[sample], "loss_mask": [1, 1, 0],
            "rollout_log_probs": [-0.5, -0.25, -0.125], "status": "completed", "metadata": {"level": prompt}, **more,
        }
        for prompt, sample in places()
    ]  # fmt: skip


def saved(path: Path, value: Any) -> None:
    """Write what `torch.save` writes of plain values."""
    path.parent.mkdir(parents=True, exist_ok=True)
    archive(path, dumps(value), {})


@case(Holds("slime", 6, 24))
def slime_under_a_template_of_ones_own(folder: Path) -> None:
    """`--save-debug-rollout-data runs/dbg/rollout_{rollout_id}.pt`, with keys of a later version."""
    for rollout in (4, 11):
        samples = of_slime(rollout, teacher_log_probs=None, session_id="s", some_future_key=[1, 2])
        saved(folder / f"dbg/rollout_{rollout}.pt", {"rollout_id": rollout, "samples": samples})


@case(Holds("slime", 9, 36))
def slime_details_with_an_evaluation_and_parts_of_rewards(folder: Path) -> None:
    """`--dump-details`: rewards are objects, an evaluation lies beside, `train_data` is a list of samples."""
    root = folder / "run-7/details"
    for rollout in (0, 1):
        samples = of_slime(rollout)
        parts = [one | {"reward": {"score": one["reward"], "format": 1.0}} for one in samples]
        saved(root / f"rollout_data/{rollout}.pt", {"rollout_id": rollout, "samples": parts})
    saved(root / "rollout_data/eval_1.pt", {"rollout_id": 1, "samples": of_slime(0)})
    train = [
        {
            "sample_index": n, "rollout_position": n, "data_parallel_rank": 0, "response_lengths": 3,
            "total_lengths": 5, "rewards": 0.1, "loss_masks": [1, 1, 0], "log_probs": [-0.5] * 3,
            "advantages": [0.25] * 3,
        }
        for n in reversed(range(12))
    ]  # fmt: skip
    saved(root / "train_data/0.pt", {
        "format_version": 2, "rollout_id": 0, "rank": 0, "samples": train, "dp_shards": [], "raw_reward": [0.5] * 12,
    })  # fmt: skip


@case(Holds("miles", 3, 12))
def miles_with_conversations_and_ranks(folder: Path) -> None:
    """Dumps of miles, two ranks of train data in columns, conversations with a key of a later version."""
    root = folder / "miles-run"
    own = {"rollout_id": 0, "rollout_mask_sum": 2, "weight_versions": ["1"], "rollout_routed_experts": None}
    saved(root / "rollout_data/0.pt", {"rollout_id": 0, "samples": of_slime(0, **own), "metadata": {}})
    for rank in range(2):
        count = 6
        columns = {
            "tokens": [[1, 2, 3, 4, 5]] * count, "response_lengths": [3] * count, "total_lengths": [5] * count,
            "sample_indices": [*range(rank * count, rank * count + count)], "rewards": [0.0] * count,
            "loss_masks": [[1, 1, 0]] * count, "log_probs": [[-0.5] * 3] * count, "advantages": [[0.5] * 3] * count,
        }  # fmt: skip
        part = {"rollout_id": 0, "rank": rank, "rollout_data": columns, "cp_rank": 0, "cp_size": 1, "qkv_format": "thd"}
        saved(root / f"train_data/0_{rank}.pt", part)
    told = [
        {
            "sample_index": n, "group_index": n // EACH, "status": "completed", "reward": 1.0,
            "prompt": chat(asked(n // EACH)), "messages": chat(asked(n // EACH), "four"), "new_key": 1,
        }
        for n in (0, 5)
    ]  # fmt: skip
    lines(root / "trajectory/0.jsonl", told)


@case(Holds("miles", 3, 12))
def miles_conversations_alone_of_a_later_version(folder: Path) -> None:
    """`--save-debug-trajectory-data` alone, with one more key."""
    told = [
        {
            "sample_index": prompt * EACH + sample, "group_index": prompt, "status": "completed",
            "reward": REWARDS[sample], "prompt": chat(asked(prompt)), "messages": chat(asked(prompt), ANSWERS[sample]),
            "session_id": "s",
        }
        for prompt, sample in places()
    ]  # fmt: skip
    lines(folder / "conversations/12.jsonl", told)
