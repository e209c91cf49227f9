"""Layouts of files that public scripts write, key by key."""

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from tests.campaign.truth import Plan, Sample, plan, samples

if TYPE_CHECKING:
    from tests.campaign.folders import Expected


def _simple(rng: Random, **changes: Any) -> tuple[Plan, list[Sample]]:
    """Make samples of one turn, without what a layout has no place for."""
    ground = plan(rng)
    ground.has_turns = ground.has_tools = ground.has_missing_rewards = ground.is_verdict = ground.repeats_prompts = (
        False
    )
    ground.system = ""
    for name, value in changes.items():
        setattr(ground, name, value)
    return ground, samples(rng, ground)


def _expected(one: Sample, *, by_prompt: bool = False, step: bool = True, **more: Any) -> "Expected":
    from tests.campaign.folders import Expected

    return Expected(
        step=one.step if step else None,
        group=one.question if by_prompt else one.group,
        reward=one.reward,
        prompt=one.question if len(one.prompt) == 1 else None,
        prompt_turns=one.prompt,
        response=one.answer if len(one.response) == 1 else None,
        response_turns=one.response,
        **more,
    )


def _by(made: Iterable[Sample], key: str) -> dict[int, list[Sample]]:
    parts: dict[int, list[Sample]] = {}
    for one in made:
        parts.setdefault(getattr(one, key), []).append(one)
    return parts


def _lines(path: Path, rows: Iterable[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


def _document(path: Path, value: Any, indent: int | None = None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=indent), encoding="utf-8")


def nano_aha(rng: Random, folder: Path) -> "list[Expected]":
    """McGill-NLP/nano-aha-moment: episodes/eps_000010.json, in several processes in a folder for each."""
    _, made = _simple(rng)
    inner = rng.choice(("episodes", "episodes/rank_{rank:02d}"))
    for step, here in _by(made, "step").items():
        for rank in (0, 1):
            part = [
                one
                for one in here
                if ("rank" not in inner and rank == 0) or ("rank" in inner and one.place % 2 == rank)
            ]
            rows = [{"query": one.question, "response": one.answer, "reward": one.reward} for one in part]
            if rows:
                _document(folder / inner.format(rank=rank) / f"eps_{step:06d}.json", rows)
    return [_expected(one, by_prompt=True) for one in made]


def assignment(rng: Random, folder: Path) -> "list[Expected]":
    """Answers to the fifth assignment of CS336: rollouts_step_10.jsonl, with an object of scores."""
    _, made = _simple(rng)
    for step, here in _by(made, "step").items():
        rows = [
            {
                "prompt": one.question,
                "ground_truth": one.label,
                "response": one.answer,
                "scores": {"format_reward": 1.0, "answer_reward": one.reward, "reward": one.reward},
            }
            for one in here
        ]
        _lines(folder / f"rollouts_step_{step}.jsonl", rows)
    return [_expected(one, by_prompt=True, label=one.label) for one in made]


def qwen_math(rng: Random, folder: Path) -> "list[Expected]":
    """QwenLM/Qwen2.5-Math, evaluation: a line for each question, with what was sampled in arrays."""
    ground, _ = _simple(rng)
    ground.steps, ground.is_verdict = [0], True
    made = samples(rng, ground)
    rows = []
    for number, group in _by(made, "group").items():
        first = group[0]
        rows.append(
            {
                "idx": number,
                "question": first.question,
                "gt_cot": f"Add them: #### {first.label}",
                "gt": first.label,
                "solution": f"Add them: #### {first.label}",
                "answer": first.label,
                "code": [one.answer for one in group],
                "pred": [one.label if one.reward else "0" for one in group],
                "report": [None for _ in group],
                "score": [bool(one.reward) for one in group],
            }
        )
    _lines(folder / "gsm8k" / "test_qwen25-math-cot_-1_seed0_t0.6_s0_e-1.jsonl", rows)
    _document(
        folder / "gsm8k" / "test_qwen25-math-cot_-1_seed0_t0.6_s0_e-1_metrics.json", {"num_samples": 4, "acc": 50.0}
    )
    return [_expected(one, step=False) for one in made]


def tau_bench(rng: Random, folder: Path) -> "list[Expected]":
    """sierra-research/tau-bench: a list with task_id, reward, info, traj and trial."""
    _, made = _simple(
        rng, has_turns=True, has_tools=True, system="# Policy\nAsk before you act.", steps=[0], recurs=False
    )
    rows = [
        {
            "task_id": one.group,
            "reward": one.reward,
            "info": {
                "task": {"user_id": "u", "instruction": one.question, "actions": []},
                "source": "user",
                "cost": 0.1,
            },
            "traj": [{"role": turn.role, "content": turn.text} for turn in (*one.prompt, *one.response)],
            "trial": one.place,
        }
        for one in made
    ]
    _document(folder / "tool-calling-gpt-4o-0.0_range_0--1_user-gpt-4o-llm_0514.json", rows, 2)
    return [_expected(one, step=False) for one in made]


def lm_eval(rng: Random, folder: Path) -> "list[Expected]":
    """EleutherAI/lm-evaluation-harness, --log_samples."""
    _, made = _simple(rng, steps=[0], recurs=False)
    made = [one for one in made if one.place == 0]
    for one in made:
        one.reward = float((one.reward or 0) > 0.5)
    rows = [
        {
            "doc_id": one.group,
            "doc": {"question": one.question, "answer": f"Add them. #### {one.label}"},
            "target": one.label,
            "arguments": {
                "gen_args_0": {"arg_0": f"Question: {one.question}\nAnswer:", "arg_1": {"until": ["Question:"]}}
            },
            "resps": [[one.answer]],
            "filtered_resps": [one.label],
            "filter": "strict-match",
            "metrics": ["exact_match"],
            "doc_hash": f"{one.group:064x}",
            "exact_match": one.reward,
        }
        for one in made
    ]
    _lines(folder / "Qwen__Qwen2.5-0.5B" / "samples_gsm8k_2025-03-14T09-26-53.589793.jsonl", rows)
    return [replace(_expected(one, step=False), prompt=None) for one in made]


def reasoning_gym(rng: Random, folder: Path) -> "list[Expected]":
    """open-thought/reasoning-gym, eval: results, each with its completions."""
    _, made = _simple(rng, steps=[0], recurs=False)
    results = []
    for group in _by(made, "group").values():
        first = group[0]
        completions = [
            {"model_answer": one.label, "full_model_response": one.answer, "score": one.reward} for one in group
        ]
        scores = [one.reward or 0.0 for one in group]
        results.append(
            {
                "question": first.question,
                "expected_answer": first.label,
                "best_score": max(scores),
                "mean_score": sum(scores) / len(scores),
                "completions": completions,
            }
        )
    document = {"name": "chain_sum", "category": "arithmetic", "average_best_score": 0.5, "results": results}
    _document(folder / "arithmetic" / "chain_sum.json", document, 2)
    return [_expected(one, step=False) for one in made]


def rlhflow(rng: Random, folder: Path) -> "list[Expected]":
    """RLHFlow/Online-RLHF: iter2_K64_Mreward.json, a document of instances."""
    _, made = _simple(rng, steps=[rng.randint(1, 4)], recurs=False)  # one file of many, whose name has two numbers
    groups = _by(made, "group").values()
    rows = [
        {"prompt": g[0].question, "responses": [one.answer for one in g], "rewards": [one.reward for one in g]}
        for g in groups
    ]
    _document(folder / f"iter{made[0].step}_K64_Mreward.json", {"type": "text_only", "instances": rows})
    return [_expected(one, step=False) for one in made]


def open_r1(rng: Random, folder: Path) -> "list[Expected]":
    """open-r1/OpenR1-Math-220k as lines: generations, and which of them are correct."""
    _, made = _simple(rng, steps=[0], recurs=False)
    rows = []
    for one in made:
        one.reward = float((one.reward or 0) > 0.5)
    for number, group in _by(made, "group").items():
        rows.append(
            {
                "uuid": f"{number:08x}",
                "problem": group[0].question,
                "answer": group[0].label,
                "problem_type": "Algebra",
                "source": "olympiads",
                "generations": [one.answer for one in group],
                "correctness_math_verify": [bool(one.reward) for one in group],
                "finish_reasons": ["length" if one.is_cut else "stop" for one in group],
            }
        )
    _lines(folder / "data.jsonl", rows)
    return [_expected(one, step=False, label=one.label) for one in made]


def rich_completions(rng: Random, folder: Path) -> "list[Expected]":
    """A listwise fork of GRPO: rich_completions_step_000010.json, a table with columns and data."""
    _, made = _simple(rng)
    names = [
        "step",
        "prompt_index",
        "completion_index",
        "group_size",
        "prompt",
        "completion",
        "reward_total",
        "advantage",
    ]
    for step, here in _by(made, "step").items():
        data = [[step, one.slot, one.place, 4, one.question, one.answer, one.reward, one.advantage] for one in here]
        _document(
            folder / "rich_completions" / f"rich_completions_step_{step:06d}.json", {"columns": names, "data": data}
        )
    return [_expected(one, advantage=one.advantage) for one in made]


def group_trace(rng: Random, folder: Path) -> "list[Expected]":
    """A trainer with a line for each group: step, uid, topic, answer and a list of rollouts with texts."""
    _, made = _simple(rng)
    rows = [
        {
            "step": group[0].step,
            "uid": f"case-{number}",
            "question": group[0].question,
            "answer": group[0].label,
            "rollouts": [
                {
                    "reward": one.reward,
                    "prediction": one.label,
                    "tokens": len(one.ids),
                    "capped": one.is_cut,
                    "text": one.answer,
                }
                for one in group
            ],
        }
        for number, group in _by(made, "group").items()
    ]
    _lines(folder / "rollouts.jsonl", rows)
    return [_expected(one, label=one.label) for one in made]


def columns_document(rng: Random, folder: Path) -> "list[Expected]":
    """mindrlhf: prompt_completions_step_10.json, whose answers are the completions."""
    _, made = _simple(rng)
    for step, here in _by(made, "step").items():
        columns = {
            "question": [one.question for one in here],
            "answer": [one.answer for one in here],
            "parsed_answer": [one.label for one in here],
            "solution": [one.label for one in here],
            "reward_per_question": [one.reward for one in here],
            "completion_length_per_question": [len(one.ids) for one in here],
        }
        _document(folder / f"prompt_completions_step_{step}.json", columns)
    return [_expected(one, by_prompt=True) for one in made]


def token_lines(rng: Random, folder: Path) -> "list[Expected]":
    """A fork of nanochat: 10/rollouts_rank0.jsonl, tokens alone."""
    _, made = _simple(rng)
    written: list[Sample] = []
    for step, here in _by(made, "step").items():
        for rank in (0, 1):
            written += [one for one in here if one.slot % 2 == rank]
            rows = [
                {
                    "prompt_id": one.group,
                    "prompt_tokens": one.prompt_ids,
                    "sequence_tokens": one.prompt_ids + one.ids,
                    "reward": one.reward,
                    "step": step,
                    "sample_index": one.place,
                    "seed": 42 + one.place,
                }
                for one in here
                if one.slot % 2 == rank
            ]
            if rows:
                _lines(folder / str(step) / f"rollouts_rank{rank}.jsonl", rows)
    found = [_expected(one) for one in written]
    return [replace(one, prompt=None, prompt_turns=(), response=None, response_turns=()) for one in found]


def reward_parts(rng: Random, folder: Path) -> "list[Expected]":
    """An evolution trainer: rollout_logs/rollouts_step_10.csv, with a column for each part of the reward."""
    from csv import writer

    _, made = _simple(rng)
    for step, here in _by(made, "step").items():
        path = folder / "rollout_logs" / f"rollouts_step_{step}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", newline="", encoding="utf-8") as file:
            ink = writer(file)
            ink.writerow(["seed", "problem", "response", "reward", "format_reward", "answer_reward", "response_len"])
            for one in here:
                ink.writerow([one.place, one.question, one.answer, one.reward, 0.1, 1.0, len(one.answer.split())])
    return [_expected(one, by_prompt=True) for one in made]


def nested_reply(rng: Random, folder: Path) -> "list[Expected]":
    """NVIDIA NeMo Gym, handed to another trainer: messages, a response, a reward and metadata."""
    _, made = _simple(rng, steps=[0], recurs=False)
    rows = [
        {
            "messages": [{"role": "user", "content": one.question}],
            "response": {"role": "assistant", "content": one.answer},
            "reward": one.reward,
            "accuracy": 0.9,
            "metadata": {"task_id": one.group},
        }
        for one in made
    ]
    _lines(folder / "rollouts.jsonl", rows)
    return [_expected(one, step=False) for one in made]


OBSERVED: dict[str, tuple[float, Callable[[Random, Path], "list[Expected]"]]] = {
    one.__name__: (weight, one)
    for one, weight in (
        (nano_aha, 4),
        (assignment, 5),
        (qwen_math, 3),
        (tau_bench, 3),
        (lm_eval, 3),
        (reasoning_gym, 2),
        (rlhflow, 2),
        (open_r1, 2),
        (rich_completions, 1),
        (group_trace, 2),
        (columns_document, 1),
        (token_lines, 1),
        (reward_parts, 2),
        (nested_reply, 1),
    )
}
"""Each layout with its weight."""
