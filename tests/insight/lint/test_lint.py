"""Each rule of lint on a run that breaks it, and on one that does not."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rolloupe
from rolloupe.errors import NotFound
from rolloupe.insight.lint import LINT_RULES, RunLint
from rolloupe.insight.lint.rule import LintRule

DEMO = Path(rolloupe.__file__).parent / "demo" / "runs"

SampleRecord = dict[str, Any]


def sample(step: int, group: int, index: int) -> SampleRecord:
    """A sample whose advantage is its reward over that of its siblings."""
    reward = (0.0, 1.0, 0.0, 1.0)[index]
    return {
        "uid": f"{step}/{group}/{index}", "split": "train", "step": step, "group": str(group), "index": str(index),
        "reward": reward, "advantage": reward - 0.5, "status": "completed", "prompt": f"Question {group}?",
        "response": f"Answer {index}.<|im_end|>" if index else "Nothing.", "label": "2", "metrics": {"format": reward},
    }  # fmt: skip


def linted(folder: Path, change: Callable[[SampleRecord], SampleRecord | None] = lambda one: one) -> RunLint:
    """Lint a run of 4 steps, 5 groups, 4 samples each; `change` returns None to leave a sample out."""
    every = [sample(step, group, index) for step in range(4) for group in range(5) for index in range(4)]
    rows = [changed for one in every if (changed := change(one)) is not None]
    (folder / "run/samples").mkdir(parents=True)
    declared = {"layout": "rolloupe", "version": 1, "reward_range": [0, 1], "metric_ranges": {"format": [0, 1]}}
    (folder / "run/rolloupe.json").write_text(json.dumps(declared))
    (folder / "run/samples/rank0.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return rolloupe.open(folder / "run", index_dir=folder / "index").runs[0].lint()


def at(group: int, **fields: Any) -> Callable[[SampleRecord], SampleRecord]:
    """Change the second sample of a group of step 1."""
    return lambda one: one | (fields if one["uid"] == f"1/{group}/1" else {})


def advantages(*values: float) -> Callable[[SampleRecord], SampleRecord]:
    """Change the advantages of group 1 of step 1."""

    def changed(one: SampleRecord) -> SampleRecord:
        is_one = one["uid"].startswith("1/1/")
        return one | ({"advantage": values[int(one["index"])]} if is_one else {})

    return changed


def alike(one: SampleRecord) -> SampleRecord:
    """Let all siblings of group 1 of step 1 write the same, and earn the same."""
    is_one = one["uid"].startswith("1/1/")
    return one | ({"response": "Same.", "reward": 1.0, "advantage": 0.0} if is_one else {})


def alone(one: SampleRecord) -> SampleRecord | None:
    """Leave one sample of group 1 of step 1."""
    return None if one["uid"] in ("1/1/1", "1/1/2", "1/1/3") else one


def twice(one: SampleRecord) -> SampleRecord:
    """Give two samples the index 0, and responses that differ."""
    return one | ({"index": "0"} if one["uid"] == "1/1/2" else {})


BREAKS: dict[str, tuple[Callable[[SampleRecord], SampleRecord | None], int, str]] = {
    "not_finite": (at(1, reward=float("nan")), 1, "of 1 sample is NaN"),
    "outside_range": (at(1, reward=3.0, advantage=2.5), 1, "of it: 1 sample."),
    "same_advantage": (advantages(0, 0, 0, 0), 4, "In 1 group all siblings have the same advantage"),
    "advantage_order": (advantages(0.5, -0.5, 0.5, -0.5), 4, "In 1 of 20 groups whose rewards differ a worse reward"),
    "same_id": (twice, 2, "the step: 2 samples."),
    "other_reward": (at(1, response="Answer 2.<|im_end|>"), 2, "In 1 case siblings wrote the same"),
    "needless_truncation": (at(1, status="truncated"), 1, "truncated: 1 sample."),
    "text_reward": (at(1, reward="0.5", advantage=None), 1, "1 sample is text, not a number, so it does not"),
    "single_samples": (alone, 1, "siblings: 1 sample."),
    "truncated_rewards": (at(1, status="truncated", response="So"), 1, "1 of 1 truncated sample was rewarded"),
    "trained_failures": (
        at(1, status="SandboxError"),
        1,
        "and was trained on all the same, which moved the mean reward of 1 group, by 0.167 on average.",
    ),
    "same_texts": (alike, 4, "In 1 of 20 groups of 4 or more all siblings wrote the same response: 4 samples."),
    "off_centre": (advantages(0.0, 1.0, 0.0, 1.0), 4, "In 1 group the advantages of siblings do not add up"),
}


@pytest.mark.parametrize("rule", BREAKS)
def test_a_run_breaks_a_rule(rule: str, tmp_path: Path) -> None:
    change, count, text = BREAKS[rule]
    found = linted(tmp_path, change)
    (one,) = [one for one in found.broken if one.rule == rule]
    assert (one.count, one.is_certain) == (count, LINT_RULES[rule].is_certain) and text in one.text
    assert one.samples and all(id_.startswith("train/1/1/") for id_ in one.samples)
    assert {other.rule for other in found.broken if other.is_certain} <= {rule}


def test_a_sound_run_breaks_none(tmp_path: Path) -> None:
    found = linted(tmp_path)
    assert found.broken == [] and found.samples == 80
    of_columns = {name for name, rule in LINT_RULES.items() if isinstance(rule, LintRule)}
    lacking = {
        "positive_logprobs",
        "equal_logprobs",
        "off_policy",
        "policy_lag",
        "one_text",
        "one_prompt",
        "trained_evals",
        "few_prompts",
    }
    assert {one.rule for one in found.unchecked} & of_columns == lacking
    assert {
        *BREAKS,
        "lost_data",
        "other_groups",
        "several_launches",
        "disputed_labels",
        "empty_labels",
        "stated_labels",
    } == {*found.checked}


def test_a_reward_at_the_end_of_what_numbers_can_hold_is_compared(tmp_path: Path) -> None:
    def changed(one: SampleRecord) -> SampleRecord:
        ends = {"1/1/0": -1.7e308, "1/1/1": 1.7e308}
        return one | ({"reward": ends[one["uid"]], "response": "Same."} if one["uid"] in ends else {})

    assert [one.count for one in linted(tmp_path, changed).broken if one.rule == "other_reward"] == [2]


def test_without_a_law_nothing_is_certain_about_advantages(tmp_path: Path) -> None:
    def changed(one: SampleRecord) -> SampleRecord:
        return one | {"advantage": ((int(one["uid"][0]) * 7 + int(one["index"]) * 3) % 5) / 5}

    found = linted(tmp_path, changed)
    reasons = {one.rule: one.reason for one in found.unchecked}
    assert {"same_advantage", "advantage_order", "single_samples", "off_centre"} <= {*reasons}
    assert "linear function" in reasons["advantage_order"] and not found.is_broken


@pytest.mark.parametrize(
    ("rule", "values", "text"),
    [
        ("positive_logprobs", [-0.5, 0.25], "above 0 at 1 step, first at train 0"),
        ("equal_logprobs", [-0.5] * 20, "equal at 1 step"),
        ("off_policy", [-1.0, -1.0], "differs from 1"),
    ],
)
def test_rules_of_token_series_look_at_steps(rule: str, values: list[float], text: str, tmp_path: Path) -> None:
    series = {"logprobs": values} | ({"importance_ratio": [1.5, 1.5]} if rule == "off_policy" else {})
    with rolloupe.Recorder(tmp_path / "run") as recorder:
        recorder.sample(step=0, prompt="1+1?", response="two", reward=1.0, group="a", index=0, series=series)
        recorder.step_end(0)
    found = rolloupe.open(tmp_path / "run", index_dir=tmp_path / "index").runs[0].lint()
    (one,) = [one for one in found.broken if one.rule == rule]
    assert text in one.text and one.samples and one.samples[0].startswith("train/0/a/")
    assert [one.rule] == [one.rule for one in found.broken]


@pytest.mark.parametrize(
    ("bare", "bare_reward", "share"),
    [("", 0.0, 0.5), ("None", 0.0, 0.5), ("[]", 0.0, 0.5), ("", 1.0, 0.5), ("", 0.0, 0.0), ("", 0.5, 0.5)],
)
def test_samples_without_a_label_that_never_earn_anything(
    bare: str, bare_reward: float, share: float, tmp_path: Path
) -> None:
    with rolloupe.Recorder(tmp_path / "run") as recorder:
        for number in range(160):
            is_bare, is_right = number % 4 == 0, number % 8 < 8 * share
            recorder.sample(
                step=0, group=str(number // 8), index=number % 8, prompt=f"{number // 8}?", response=f"So {number}.",
                label=bare if is_bare else "3", reward=bare_reward if is_bare else float(is_right),
            )  # fmt: skip
        recorder.step_end(0)
    found = rolloupe.open(tmp_path / "run", index_dir=tmp_path / "index").runs[0].lint()
    texts = [one.text for one in found.broken if one.rule == "empty_labels"]
    expected = (
        "32 of 128 samples read have no label, and all of these have the lowest reward; of the others 50% have it."
    )
    assert texts == ([expected] if bare_reward == 0 and share else [])


@pytest.mark.parametrize("answers", ["B", "BC"])
def test_one_answer_to_everything_says_nothing_about_labels(answers: str, tmp_path: Path) -> None:
    with rolloupe.Recorder(tmp_path / "run") as recorder:
        for number in range(20):
            label, answer = "DEB"[number % 3] if answers == "B" else "D", answers[number % len(answers)]
            for index in range(4):
                recorder.sample(
                    step=0, group=str(number), index=index, prompt=f"{number}?", label=label,
                    response=f"Case {number}, by way {index}. The answer is {answer}.", reward=float(answer == label),
                )  # fmt: skip
            recorder.sample(step=0, group=f"{number} right", prompt=f"{number}!", response="yes", reward=1.0, index=0)
        recorder.step_end(0)
    found = rolloupe.open(tmp_path / "run", index_dir=tmp_path / "index").runs[0].lint()
    assert ("disputed_labels" in {one.rule for one in found.broken}) == (answers != "B")


def test_the_demo_run_rewards_truncated_samples_and_breaks_nothing(demo_index: Path) -> None:
    run = rolloupe.open(DEMO / "tiny_grpo", index_dir=demo_index, wait=False).runs[0]
    assert run.wait(60)
    found = run.lint()
    assert [one.rule for one in found.broken] == ["truncated_rewards"] and not found.is_broken
    assert found.broken[0].text.startswith("57 of 57 truncated samples were rewarded;") and found.samples == 17_273
    assert run.sample(found.broken[0].samples[0]).row.status == "truncated"
    lacking = {"off_policy", "needless_truncation", "policy_lag"}
    assert {one.rule for one in found.unchecked} == lacking and found.read >= 128
    assert run.lint(split="eval/held_out", steps=(0, 20)).samples < 1440
    with pytest.raises(NotFound):
        run.lint(split="eval/nothing")


def test_a_run_whose_rewards_are_all_text_says_so(tmp_path: Path) -> None:
    usual = {"step": 0, "group_id": "a", "prompt": "Why?", "response": "So."}
    rows = [json.dumps(usual | {"reward": f"level {one}"}) for one in range(3)]
    (tmp_path / "run.jsonl").write_text("".join(f"{row}\n" for row in rows))
    run = rolloupe.open(tmp_path / "run.jsonl", format="generic", index_dir=tmp_path / "index").runs[0]
    found = run.lint()
    assert [(one.rule, one.count) for one in found.broken] == [("text_reward", 3)] and found.is_broken
    assert run.sample(found.broken[0].samples[0]).row.tags["reward"] == "level 0"
    assert "Rewards that are text, not numbers, do not count" in run.findings().note


def test_samples_that_a_file_holds_twice_are_found_by_the_ids_of_their_records(tmp_path: Path) -> None:
    def run(name: str, *ids: str) -> RunLint:
        usual = {"step": 0, "group_id": "a", "prompt": "Why?", "response": "So.", "reward": 1.0}
        rows = [usual | {"sample_id": one, "response": "So." if one == "x" else "No."} for one in ids]
        (tmp_path / name).mkdir()
        (tmp_path / name / "rollouts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        return rolloupe.open(tmp_path / name, index_dir=tmp_path / "index").runs[0].lint()

    (one,) = [one for one in run("twice", "x", "y", "x", "z").broken if one.is_certain]
    assert (one.rule, one.count) == ("same_id", 2) and "of another trained sample" in one.text
    assert not run("once", "x", "y", "z").is_broken
    assert not run("prompt", "x", "x", "x").is_broken, "the id of a prompt"
