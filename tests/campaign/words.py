"""What strangers call things: the keys, names of files and habits of public scripts that train and evaluate models.

Each word has a weight: about how often scripts that save samples used it. A comment names where a rare one was seen.
Nothing here follows from what Rolloupe reads.
"""

from collections.abc import Mapping
from random import Random
from typing import TypeVar

T = TypeVar("T")


def pick(rng: Random, weights: Mapping[T, float]) -> T:
    """Choose one of the keys, each as often as its weight says."""
    return rng.choices(list(weights), list(weights.values()))[0]


PROMPTS = {
    "prompt": 40,
    "question": 14,
    "problem": 7,
    "query": 6,  # nano-aha-moment: eps_000010.json
    "input": 5,  # OpenRLHF best of n
    "prompt_text": 4,
    "instruction": 3,
    "user_prompt": 2,
    "full_prompt": 2,
    "formatted_prompt": 1,
    "input_text": 1,
}

RESPONSES = {
    "response": 32,
    "completion": 26,
    "output": 9,  # OpenRLHF best of n
    "generation": 4,
    "model_output": 4,
    "model_response": 4,  # a fork of TRL: completions_step_10.csv
    "completion_text": 3,
    "response_text": 3,
    "generated_text": 3,
    "full_response": 2,
    "output_text": 2,
    "answer": 2,  # mindrlhf: prompt_completions_step_10.json has question and answer, and the truth as solution
    "solution_str": 1,  # reward functions of verl
    "full_model_response": 1,  # reasoning-gym
    "raw_completion": 1,
    "generated_answer": 1,
}

REWARDS = {
    "reward": 50,
    "score": 14,
    "total_reward": 8,
    "episode_reward": 2,
    "final_reward": 2,
    "reward_total": 1,  # rich_completions_step_000010.json
    "reward_score": 1,
    "rm_score": 1,
    "final_score": 1,
}

VERDICTS = {"correct": 5, "is_correct": 4, "reward": 4, "success": 1, "accuracy": 1, "passed": 1}
"""Keys of a reward that is true or false."""

GROUPS = {
    "group_id": 14,
    "prompt_id": 8,  # rollouts_rank0.jsonl of a fork of nanochat
    "prompt_idx": 8,
    "question_id": 5,
    "group": 4,
    "group_idx": 4,
    "problem_id": 4,
    "prompt_index": 4,
    "task_id": 4,  # tau-bench
    "idx": 4,  # Qwen2.5-Math
    "id": 4,
    "uid": 3,  # verl
    "question_idx": 3,  # answers to the fifth assignment of CS336
    "index": 2,
    "example_id": 2,
    "example_idx": 1,
    "query_id": 1,
    "q_idx": 1,
    "qid": 1,
    "record_id": 1,
    "data_index": 1,
}

PLAIN_GROUPS = ("group_id", "group", "group_idx")
"""Keys that say "group" themselves: two groups of one step may then have the same prompt."""

PLACES = {
    "sample_idx": 8,
    "completion_idx": 5,
    "rollout_idx": 4,
    "sample_index": 4,
    "completion_index": 2,
    "generation_idx": 2,
    "response_idx": 2,
    "trial": 2,  # tau-bench
    "sample_id": 1,
}
"""Keys of the place of a sample in its group."""

OWN_IDS = {"id": 3, "uuid": 2, "sample_id": 2, "rollout_id": 2, "trajectory_id": 2, "request_id": 1, "episode_id": 1}
"""Keys of a name that no two samples share."""

STEPS = {
    "step": 45,
    "global_step": 15,
    "iteration": 8,
    "training_step": 4,
    "iter": 3,
    "train_step": 3,
    "grpo_step": 2,
    "update": 2,
    "update_step": 1,
    "policy_step": 1,
}

LABELS = {
    "ground_truth": 30,
    "answer": 12,
    "gt": 6,  # Qwen2.5-Math
    "gold_answer": 5,
    "target": 5,
    "label": 5,  # OpenRLHF
    "solution": 4,
    "expected_answer": 4,  # reasoning-gym
    "gold": 4,
    "reference_answer": 3,
    "correct_answer": 3,
    "expected": 2,
    "gt_answer": 2,
}

ADVANTAGES = {"advantage": 20, "adv": 3, "advantages": 2, "group_advantage": 1}

ENVIRONMENTS = {"data_source": 5, "dataset": 4, "env": 3, "task": 3, "env_name": 2, "source": 2, "domain": 1}

ENDS: Mapping[str, tuple[object, object]] = {
    "finish_reason": ("stop", "length"),
    "truncated": (False, True),
    "status": ("completed", "truncated"),
    "stop_reason": ("stop", "length"),
    "is_truncated": (False, True),
}
"""Keys of how a sample ended, with what they hold of one that ended by itself and of one that was cut short."""

END_WEIGHTS = {"finish_reason": 20, "truncated": 8, "status": 4, "stop_reason": 3, "is_truncated": 2}

RESPONSE_IDS = {
    "completion_ids": 8,  # TRL
    "response_ids": 6,
    "token_ids": 4,
    "output_ids": 4,
    "response_token_ids": 3,
    "completion_token_ids": 3,
    "output_token_ids": 2,
    "response_tokens": 2,
    "completion_tokens": 2,
}

PROMPT_IDS = {"prompt_ids": 8, "prompt_token_ids": 5, "prompt_tokens": 1}

ALL_IDS = {"input_ids": 6, "tokens": 5, "token_ids": 2, "full_ids": 1, "sequence_tokens": 1}  # the last: nanochat forks

LOGPROBS = {
    "logprobs": 15,
    "log_probs": 5,
    "old_log_probs": 5,
    "token_logprobs": 5,
    "old_logprobs": 3,
    "response_logprobs": 3,
    "logps": 2,
    "per_token_logps": 2,  # TRL
    "old_per_token_logps": 2,
    "completion_logprobs": 2,
    "rollout_log_probs": 2,
    "sampling_logprobs": 1,
}

MASKS = {
    "loss_mask": 10,
    "response_mask": 8,
    "action_mask": 6,
    "completion_mask": 6,
    "mask": 3,
    "assistant_mask": 3,
    "train_mask": 1,
}

COUNTS = {
    "response_length": 8,
    "completion_length": 6,
    "completion_tokens": 4,
    "response_tokens": 3,
    "num_tokens": 3,
    "n_tokens": 2,
    "output_tokens": 2,
    "length": 1,
}

MESSAGES = {
    "messages": 20,
    "conversation": 4,
    "trajectory": 4,
    "history": 3,
    "conversations": 2,
    "traj": 2,
    "dialogue": 1,
}
"""Keys of a whole conversation. `traj`: tau-bench."""

LISTS = {
    "rollouts": 10,
    "samples": 8,
    "completions": 6,
    "responses": 5,
    "generations": 4,
    "trajectories": 3,
    "outputs": 3,
    "candidates": 3,
    "results": 1,
}
"""Keys of a list of objects, one for each sample of a group."""

DOCUMENTS = {
    "samples": 10,  # completions_step_10.json: step, epoch, timestamp, num_samples, samples
    "rollouts": 8,
    "results": 8,
    "completions": 5,
    "data": 5,
    "trajectories": 4,
    "episodes": 3,
    "records": 2,  # answers to the fifth assignment of CS336
    "instances": 2,  # RLHFlow
    "examples": 2,
    "generations": 2,
    "items": 1,
}
"""Keys of the list of all rows of a file."""

PLURALS = {
    "query": "queries",
    "gt": "gts",
    "correct": "correct",
    "is_correct": "is_correct",
    "accuracy": "accuracy",
    "passed": "passed",
    "success": "success",
    "truncated": "truncated",
    "is_truncated": "is_truncated",
    "status": "statuses",
    "advantages": "advantages",
    "solution_str": "solution_strs",
    "prompt_idx": "prompt_idxs",
    "index": "indices",
    "prompt_index": "prompt_indices",
    "prompt_text": "prompt_texts",
}
"""How a key is called when it holds a value for each of several samples, where it is not the key and an s."""

PARTS = {
    "format_reward": 10,
    "accuracy_reward": 6,
    "answer_reward": 6,  # CS336
    "equation_reward": 3,  # countdown, in tiny trainers
    "correctness_reward": 3,
    "length_penalty": 2,
    "tag_count_reward": 1,  # open-r1
    "xmlcount_reward": 1,
}

REWARD_OBJECTS = {
    "scores": ("reward",),  # answers to the fifth assignment of CS336: reward, format_reward, answer_reward
    "reward": ("total", "score", "overall"),
    "rewards": ("total", "reward", "total_reward"),
    "reward_info": ("reward", "total_reward"),
    "grade": ("score", "reward"),
    "evaluation": ("score", "reward"),
    "metrics": ("reward", "score"),
    "reward_details": ("total", "score"),
}

METAS = {"meta": 5, "metadata": 8, "info": 5, "extra_info": 3, "extra": 1, "context": 1}

PAIRS = {("input", "output"): 8, ("request", "response"): 3, ("inputs", "outputs"): 2, ("task", "result"): 1}
"""Where what went in lies, and what came out."""

WHOLES = {"sample": 4, "data": 3, "rollout": 3, "trajectory": 2, "record": 1, "item": 1}
"""Keys of an object that holds all else of a row."""

FILES = {
    "rollouts": 25,
    "completions": 14,
    "samples": 10,
    "generations": 8,
    "trajectories": 8,
    "rollout": 6,
    "outputs": 5,
    "train": 4,
    "episodes": 4,
    "results": 4,
    "responses": 3,
    "train_rollouts": 3,
    "predictions": 3,
    "data": 2,
    "dump": 2,
    "log": 1,
    "reward_log": 1,
    "buffer": 1,
}

STEP_FILES = {
    "{word}_step_{step}": 20,
    "step_{step}": 14,
    "{word}_step_{step:04d}": 6,
    "{word}_step_{step:06d}": 4,
    "{word}_{step:06d}": 8,
    "{word}_{step:05d}": 4,  # TRL
    "{word}_{step}": 8,
    "step{step}": 4,
    "iter_{step}": 4,
    "{word}_iter{step}": 3,
    "iteration_{step}": 3,
    "iter{step}": 2,
    "eps_{step:06d}": 2,  # nano-aha-moment
    "{step}": 4,
    "global_step_{step}": 2,
    "{word}-step-{step}": 2,
    "{word}.step{step}": 1,
    "{word}_{step}_train": 1,
    "epoch_{epoch}_step_{step}": 2,
    "{word}_epoch{epoch}_step{step}": 1,
    "prompt_{word}_step_{step}": 1,  # mindrlhf
}

RANK_FILES = {
    "rank{rank}_step{step}": 3,
    "{word}_rank{rank}_step{step}": 5,
    "{word}_step{step}_rank{rank}": 3,
    "step_{step}_rank_{rank}": 2,
    "rank_{rank:02d}/{word}_{step:06d}": 2,  # nano-aha-moment
    "{step}/{word}_rank{rank}": 2,  # forks of nanochat
    "step_{step}/rank_{rank}": 2,
}

STEP_FOLDERS = {
    "step_{step}/{word}": 10,
    "global_step_{step}/{word}": 4,
    "checkpoint-{step}/{word}": 3,
    "{step}/{word}": 2,
    "iter_{step:04d}/{word}": 2,
    "iteration_{step}/{word}": 2,
    "step-{step:05d}/{word}": 1,
}

FOLDERS = {
    "": 70,
    "rollouts/": 6,
    "outputs/": 4,
    "logs/": 4,
    "completions/": 3,
    "episodes/": 2,
    "train/": 2,
    "run1/": 2,
}

DISTRACTORS: Mapping[str, object] = {
    "timestamp": "2025-03-14T09:26:53.589793",
    "model": "Qwen/Qwen2.5-1.5B-Instruct",
    "temperature": 0.7,
    "seed": 42,
    "epoch": 0.0375,
    "kl": 0.0123,
    "entropy": 1.2345,
    "lr": 1e-06,
    "loss": 0.0456,
    "elapsed": 12.5,
    "difficulty": "medium",
    "extracted_answer": "17",
    "format_ok": True,
    "n_gpus": 8,
    "top_p": 0.95,
    "version": 2,
}

JUNK: Mapping[str, str] = {
    "config.json": '{"model_name": "Qwen/Qwen2.5-0.5B", "lr": 1e-06, "num_generations": 8, "max_steps": 500}',
    "args.json": '{"learning_rate": 5e-06, "batch_size": 16, "seed": 42}',
    "metrics.jsonl": '{"step": 1, "loss": 0.31, "reward": 0.25}\n{"step": 2, "loss": 0.28, "reward": 0.5}\n',
    "training_log.jsonl": '{"step": 10, "mean_reward": 0.41, "kl": 0.002, "lr": 1e-06}\n',
    "train_log.csv": "step,loss,mean_reward\n1,0.31,0.25\n2,0.28,0.5\n",
    "summary.json": '{"accuracy": 0.5, "num_samples": 16, "mean_reward": 0.41}',
    "README.md": "# GRPO on GSM8K\n\nRun `python train.py`.\n",
    "train.log": "2025-03-14 09:26:53 INFO step 1 loss 0.31\n2025-03-14 09:27:10 INFO step 2 loss 0.28\n",
    "requirements.txt": "torch\ntransformers\nvllm\n",
    ".gitignore": "*.pt\n",
    "empty.jsonl": "",
    "trainer_state.json": '{"global_step": 20, "log_history": [{"step": 10, "loss": 0.1, "reward": 0.4}]}',
}
"""Files beside the samples that hold none."""
