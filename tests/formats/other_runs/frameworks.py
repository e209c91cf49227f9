"""Runs of NeMo-RL, NeMo-Gym, SkyRL, AReaL, ROLL, ART, open-instruct and verifiers."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.formats.other_runs.writing import (
    ANSWERS,
    EACH,
    PROMPTS,
    REWARDS,
    Holds,
    answer,
    asked,
    case,
    chat,
    document,
    lines,
    places,
)


@case(Holds("nemo_rl", 3, 12))
def nemo_rl_train_rows(folder: Path) -> None:
    """Every value in a list of one, padded arrays; equal prompt ids are a group."""
    rows = [
        {
            "content": [[asked(prompt), ANSWERS[sample]]], "rewards": [REWARDS[sample]], "input_lengths": [6],
            "token_ids": [[10 + prompt, 2, 3, 4, 5, 6, 0, 0]], "token_loss_mask": [[0, 0, 0, 1, 1, 1, 0, 0]],
            "sample_loss_mask": [1.0], "advantages": [[0.0] * 8], "generation_logprobs": [[-0.5] * 8],
            "prev_logprobs": [[-0.5] * 8], "idx": prompt * EACH + sample,
        }
        for prompt, sample in places()
    ]  # fmt: skip
    lines(folder / "results/grpo-math/logs/exp_014/train_data_step40.jsonl", rows)


def of_gym(prompt: int, sample: int, **more: Any) -> dict[str, Any]:
    """A rollout of NeMo-Gym."""
    call = {"type": "function_call", "name": "get", "arguments": '{"x": 1}', "call_id": "c1"}
    output = [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "so"}]},
        call,
        {"type": "function_call_output", "call_id": "c1", "output": "4"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": ANSWERS[sample]}]},
    ]
    return {
        "responses_create_params": {"input": chat(asked(prompt)), "tools": []},
        "response": {"id": "r", "model": "m", "output": output, "usage": {"input_tokens": 3}, "status": "completed"},
        "reward": REWARDS[sample], "_ng_task_index": prompt, "_ng_rollout_index": sample, **more,
    }  # fmt: skip


@case(Holds("nemo_gym", 3, 12))
def nemo_gym_with_a_new_environment(folder: Path) -> None:
    """Keys of an environment at the top, files beside that are not rollouts."""
    rows = [of_gym(*one, num_steps=3, verdict="ok", agent_ref={"name": "a"}) for one in places()]
    lines(folder / "out/my_rollouts.jsonl", rows)
    asked_only = [{"responses_create_params": {"input": "q"}, "_ng_task_index": 0, "_ng_rollout_index": 0}]
    lines(folder / "out/my_rollouts_materialized_inputs.jsonl", asked_only)


@case(Holds("nemo_rl", 3, 12))
def nemo_rl_validation_with_conversations(folder: Path) -> None:
    """Validation rows hold messages, rewards and numbers alone."""
    rows = [
        {"content": [chat(asked(prompt), ANSWERS[sample])], "rewards": [REWARDS[sample]], "idx": n}
        for n, (prompt, sample) in enumerate(places())
    ]
    lines(folder / "logs/exp_002/val_data_step10.jsonl", rows)


@case(Holds("nemo_gym", 3, 13))
def nemo_gym_with_failures(folder: Path) -> None:
    """Beside the rollouts those that failed, and the metrics of all."""
    lines(folder / "gym/rollouts.jsonl", [of_gym(*one) for one in places()])
    failed = {"responses_create_params": {"input": chat(asked(0))}, "_ng_task_index": 0, "_ng_rollout_index": 9}
    lines(
        folder / "gym/rollouts_failures.jsonl",
        [failed | {"_ng_failure_class": "Timeout", "_ng_failure_terminal": True}],
    )
    document(folder / "gym/rollouts_aggregate_metrics.json", {"mean/reward": 0.5})


@case(Holds("skyrl", 6, 24))
def skyrl_with_scores_by_token(folder: Path) -> None:
    """Two data sets of a step; scores are lists whose sum is the reward."""
    for name in ("dapo_aime", "unknown"):
        rows = [
            {
                "input_prompt": asked(prompt), "output_response": ANSWERS[sample] + "<|im_end|>",
                "score": [0.0, 0.0, REWARDS[sample]], "stop_reason": "stop", "env_class": "aime",
                "env_extras": {"a": 1}, "data_source": name,
            }
            for prompt, sample in places()
        ]  # fmt: skip
        lines(folder / f"exports/dumped_evals/global_step_15_evals/{name}.jsonl", rows)
    lines(folder / "exports/dumped_evals/global_step_15_evals/aggregated_results.jsonl", [{"eval/all/avg_score": 0.5}])


@case(Holds("areal", 6, 24))
def areal_rollouts_and_evaluations(folder: Path) -> None:
    """Folders of weight versions below `rollout` and `eval-rollout`."""
    for kind, version in (("rollout", 3), ("eval-rollout", 3)):
        for prompt in range(PROMPTS):
            rows = [
                {
                    "task_id": prompt + 40, "sample_idx": sample, "seqlen": 9, "prompt_len": 4, "head_version": 2,
                    "tail_version": version, "reward": REWARDS[sample], "prompt": asked(prompt),
                    "completion": ANSWERS[sample], "new_key": "x",
                }
                for sample in range(EACH)
            ]  # fmt: skip
            lines(folder / f"logs/me/gsm8k/trial2/{kind}/{version}/{prompt + 40}.jsonl", rows)


@case(Holds("roll", 3, 12))
def roll_with_other_columns(folder: Path) -> None:
    """One line; ids are groups."""
    columns = {
        "global_step": [8] * 12, "id": [f"q{prompt}" for prompt, _ in places()], "tag": ["math"] * 12,
        "prompt": [asked(prompt) for prompt, _ in places()], "responses": [ANSWERS[sample] for _, sample in places()],
        "scores": [REWARDS[sample] for _, sample in places()], "domain": ["math_rule"] * 12,
        "response_level_rewards": [0.5] * 12,
    }  # fmt: skip
    lines(folder / "dump/rollout_dump_data.step_8.jsonl", [columns])


@case(Holds("roll", 1, 2))
def roll_agentic_with_rows_of_earlier_steps(folder: Path) -> None:
    """Trajectories as texts of JSON; rows before the last step of a trajectory are empty."""

    def told(reward: float) -> str:
        about = {"env_info": {"group_id": 3, "seed": 7, "tag": "Sokoban"}, "reward_info": {"episode_reward": reward}}
        return json.dumps(about)

    columns = {
        "trajectory_data": ["", told(1.0), "", told(0.0)],
        "messages": ["", *(text for answer in ("up", "down") for text in (json.dumps(chat("board", answer)), ""))][:4],
        "tools": [""] * 4, "exp_name": ["agentic"] * 4, "global_step": [2] * 4,
    }  # fmt: skip
    lines(folder / "agentic/rollout_dump_data.step_2.jsonl", [columns])


@case(Holds("art", 3, 12))
def art_of_2025_in_lines_of_groups(folder: Path) -> None:
    """A line for each group."""
    groups = [
        {
            "trajectories": [
                {
                    "reward": REWARDS[sample], "metrics": {"win": 1}, "metadata": {"step": 1},
                    "tools": None, "logs": [],
                    "messages_and_choices": [
                        {"role": "user", "content": asked(prompt)},
                        {"finish_reason": "stop", "index": 0, "message": answer(sample)},
                    ],
                    "additional_histories": [],
                }
                for sample in range(EACH)
            ],
            "exceptions": [],
        }
        for prompt in range(PROMPTS)
    ]  # fmt: skip
    lines(folder / ".art/2048/models/m-1/trajectories/train/0000.jsonl", groups)


@case(Holds("art", 6, 24))
def art_of_another_project(folder: Path) -> None:
    """Train and validation of another step, with keys of trajectories of its own."""
    for split in ("train/0031", "val/0031"):
        columns = {
            "group_index": [prompt for prompt, _ in places()], "group_metadata": ["{}"] * 12,
            "group_metrics": ["{}"] * 12, "group_logs": [[]] * 12,
            "reward": [REWARDS[sample] for _, sample in places()],
            "metrics": ['{"turns": 2}'] * 12, "metadata": ['{"scenario": "x"}'] * 12, "tools": ["[]"] * 12,
            "logs": [["l"]] * 12,
            "messages": [
                [one | {"tool_calls": None, "tool_call_id": None, "trainable": n == 1} for n, one in enumerate(
                    chat(asked(prompt), ANSWERS[sample]))]
                for prompt, sample in places()
            ],
        }  # fmt: skip
        path = folder / f".art/email-agent/models/agent-008/trajectories/{split}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(columns), path, compression="zstd")


@case(Holds("open_instruct", 6, 24))
def open_instruct_of_two_shards(folder: Path) -> None:
    """Ids alone, in two shards of a run, a step in each."""
    for shard in range(2):
        rows = [
            {
                "step": shard + 5, "sample_idx": prompt * EACH + sample, "prompt_idx": prompt,
                "prompt_tokens": [1, 2, prompt], "response_tokens": [4, 5], "reward": REWARDS[sample],
                "advantage": 0.0, "finish_reason": "stop", "dataset": "rlvr", "ground_truth": "4",
                "request_info": {"num_calls": 0}, "logprobs": [-0.5, -0.25],
            }
            for prompt, sample in places()
        ]  # fmt: skip
        lines(folder / f"traces/olmo_grpo__42_rollouts_{shard:06d}.jsonl", rows)


@case(Holds("verifiers", 3, 12))
def verifiers_of_2025(folder: Path) -> None:
    """`id` and `env`, members of groups not beside each other."""
    rows = [
        {
            "id": prompt, "prompt": chat(asked(prompt)), "completion": [answer(sample)],
            "answer": "4", "task": "default", "reward": REWARDS[sample], "correct_answer_func": REWARDS[sample],
            "generation_ms": 3.0,
        }
        for sample in range(EACH) for prompt in range(PROMPTS)
    ]  # fmt: skip
    place = folder / "outputs/evals/gsm8k--openai--gpt-4.1/1a2b3c4d"
    lines(place / "results.jsonl", rows)
    document(place / "metadata.json", {"env": "gsm8k", "model": "gpt-4.1", "num_examples": 3, "avg_reward": 0.0})


@case(Holds("verifiers", 3, 12))
def verifiers_of_2026(folder: Path) -> None:
    """`example_id`, nested timing, an error, columns of the state."""
    rows = [
        {
            "example_id": prompt + 7, "prompt": chat(asked(prompt)), "completion": chat(asked(1), ANSWERS[sample])[1:],
            "reward": REWARDS[sample], "error": None, "timing": {"total": 1.0, "setup": {"duration": 0.1}},
            "is_completed": True, "is_truncated": False, "stop_condition": "max_turns", "metrics": {"acc": 1.0},
            "acc": 1.0, "token_usage": {"input_tokens": 3.0, "output_tokens": 4.0}, "my_state": {"x": [1]},
        }
        for prompt, sample in places()
    ]  # fmt: skip
    place = folder / "outputs/evals/wordle--qwen--qwen3/00ff00ff"
    lines(place / "results.jsonl", rows)
    document(place / "metadata.json", {"env_id": "wordle", "model": "qwen3", "rollouts_per_example": 4})


@case(Holds("verifiers", 3, 12))
def verifiers_0_4_episodes(folder: Path) -> None:
    """`traces.jsonl` of episodes, whose rewards have weights."""
    episodes = []
    for prompt, sample in places():
        nodes = [
            {"message": {"role": "user", "content": asked(prompt)}, "sampled": False, "timestamp": 1.0},
            {
                "parent": 0,
                "message": {"role": "assistant", "content": ANSWERS[sample]},
                "sampled": True,
                "timestamp": 2.0,
            },
        ]
        trace = {
            "version": 1,
            "id": f"t{prompt}{sample}",
            "verifiers": {"version": "0.4.1"},
            "task": {"type": "T"},
            "agent": {"config": {"model": "m"}, "name": "solver", "trainable": True},
            "tools": [],
            "nodes": nodes,
            "calls": [],
            "rewards": {"right": {"score": REWARDS[sample] * 2, "weight": 0.5}, "skipped": None},
            "metrics": {"turns": 1.0},
            "info": {},
            "is_completed": True,
            "ok": True,
            "errors": [],
            "timing": {"start": 0},
        }
        episodes.append({
            "id": f"e{prompt}{sample}", "env": {"id": "quiz"}, "group": {"id": f"g{prompt}"}, "ok": True,
            "task": {"type": "T", "data": {"idx": prompt}, "key": str(prompt)}, "run": {"type": "eval", "id": "r"},
            "is_timeout": False, "errors": [], "traces": [trace], "num_total_tokens": 0,
        })  # fmt: skip
    lines(folder / "outputs/quiz-run/traces.jsonl", episodes)
