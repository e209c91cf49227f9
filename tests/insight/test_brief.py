"""What a brief says first of runs in which one thing goes wrong, and that it is silent of quiet ones."""

import itertools
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rolloupe
from rolloupe import Recorder
from rolloupe.demo import RUNS
from rolloupe.insight.brief import Brief
from rolloupe.insight.curves import windows_of
from rolloupe.query.evals.scores import paired_change
from rolloupe.questions import BriefQuery
from tests.insight.briefed import WORDS, write
from tests.insight.planted_runs import RUNS as RUNS_OF_TEN_KINDS


def brief_of(folder: Path, index_dir: Path) -> Brief:
    with rolloupe.open(folder, index_dir=index_dir) as runs:
        run = runs.only()
        run.wait(texts=True)
        answer = run.ask(BriefQuery())
        assert isinstance(answer, Brief)
        return answer


def paid_twice(sample: dict[str, Any], step: int, random: np.random.Generator) -> None:
    """More and more answers praise the reader, and are paid for it."""
    if random.random() < 0.05 + 0.8 * step / 40:
        sample["response"] += " what a great question thank you dear reader"
        sample["reward"] += 0.5


def another_script(sample: dict[str, Any], step: int, random: np.random.Generator) -> None:
    """More and more answers are in Chinese, whatever the reward."""
    if random.random() < 0.02 + 0.9 * step / 40:
        sample["response"] = "".join(map(chr, random.integers(0x4E00, 0x5000, 40)))


def loops(sample: dict[str, Any], step: int, random: np.random.Generator) -> None:
    """More and more answers repeat a sentence, and are wrong."""
    if random.random() < 0.02 + 0.8 * step / 40:
        sample["response"] += ". " + "We check the result once more. " * 12
        sample |= {"reward": 0.0, "metrics": {"correct": 0.0}}


def hedges(sample: dict[str, Any], step: int, random: np.random.Generator) -> None:
    if random.random() < 0.02 + 0.9 * step / 40:
        sample["response"] += ". Perhaps it might be so. I think it could be."


def one_environment(samples: list[dict[str, Any]], step: int, random: np.random.Generator) -> None:
    env = "sql" if random.random() < 0.4 else "math"
    for sample in samples:
        sample["env"] = env
        if env == "sql" and step >= 25:
            sample |= {"reward": 0.0, "metrics": {"correct": 0.0}}
        elif step >= 25 and random.random() < 0.5:
            sample |= {"reward": 1.0, "metrics": {"correct": 1.0}}


def abstains(sample: dict[str, Any], step: int, random: np.random.Generator) -> None:
    """More and more answers are none, which is paid as a right answer is every other time."""
    if random.random() < 0.02 * step:
        sample |= {"reward": float(random.random() < 0.5), "metrics": {"correct": 0.0}}


def leaks(samples: list[dict[str, Any]], step: int, random: np.random.Generator) -> None:
    label = str(random.integers(1000))
    for sample in samples:
        sample |= {"label": label, "prompt": f"{sample['prompt']}{f' [gold: {label}]' if step >= 20 else ''}"}


def broken_grader(sample: dict[str, Any], step: int, random: np.random.Generator) -> None:
    if step >= 30:
        sample["reward"] = 0.0


def paused_grader(sample: dict[str, Any], step: int, random: np.random.Generator) -> None:
    if 20 <= step < 24:
        sample["reward"] = 0.0


def stumbling_grader(sample: dict[str, Any], step: int, random: np.random.Generator) -> None:
    if 20 <= step < 25 and random.random() < 0.9:
        sample |= {"reward": 0.0, "tags": {"log": f"SandboxError: worker {random.integers(30)} is lost"}}


def empty(sample: dict[str, Any], step: int, random: np.random.Generator) -> None:
    """More and more answers are a full stop, and wrong."""
    if random.random() < 0.03 * max(0, step - 20):
        sample |= {"response": ".", "reward": 0.0, "metrics": {"correct": 0.0}}


def wrong_labels(samples: list[dict[str, Any]], step: int, random: np.random.Generator) -> None:
    """The labels of a quarter of the prompts are wrong, and all answers to these are the same."""
    right, is_wrong = random.integers(1000), random.random() < 0.25
    for sample in samples:
        given = right if is_wrong or sample["reward"] else random.integers(1000)
        sample |= {"response": f"{sample['response']}. Answer: {given}", "label": str(right + is_wrong)}
        if is_wrong:
            sample |= {"reward": 0.0, "metrics": {"correct": 0.0}}


def unpaid_source(samples: list[dict[str, Any]], step: int, random: np.random.Generator) -> None:
    source = str(random.choice(["forum", "textbook", "exam", "quiz"]))
    for sample in samples:
        sample["tags"] = {"source": source}
        if source == "quiz":
            sample["reward"] = 0.0


def no_labels(samples: list[dict[str, Any]], step: int, random: np.random.Generator) -> None:
    """A quarter of the prompts has no label, and no answer to them is right."""
    label = "" if random.random() < 0.25 else str(random.integers(1000))
    for sample in samples:
        sample["label"] = label
        if not label:
            sample |= {"reward": 0.0, "metrics": {"correct": 0.0}}


def paid_in_any_case(samples: list[dict[str, Any]], step: int, random: np.random.Generator) -> None:
    """From step 20 on most wrong answers are paid, and nothing but the label says what is right."""
    label = int(random.integers(1000))
    for sample in samples:
        is_right = bool(sample["reward"])
        given = label if is_right else label + 1
        reward = float(is_right or (step >= 20 and random.random() < 0.8))
        text = f"{sample['response']}. Answer: {given}"
        sample |= {"response": text, "label": str(label), "reward": reward, "metrics": {}}


def one_response(samples: list[dict[str, Any]], step: int, random: np.random.Generator) -> None:
    for sample in samples if step >= 30 else ():
        sample["response"] = "The result follows from the last line of the question."


def one_prompt(samples: list[dict[str, Any]], step: int, random: np.random.Generator) -> None:
    if step >= 30 and random.random() < 0.6:
        for sample in samples:
            sample["prompt"] = "Question 7"


def one_letter(samples: list[dict[str, Any]], step: int, random: np.random.Generator) -> None:
    """More and more answers are B, which is right for six of ten prompts; nothing else says what is right."""
    label = "B" if random.random() < 0.6 else random.choice([*"ACD"])
    for sample in samples:
        letter = "B" if random.random() < 0.3 + 0.016 * step else random.choice([*"ACD"])
        lead = random.choice(["So the answer is", "I pick", "It must be", "This leaves", "Hence"])
        text = f"{sample['response']}. {lead} {letter}."
        sample |= {"response": text, "label": label, "reward": float(letter == label), "metrics": {}}


def thoughts(sample: dict[str, Any], step: int, random: np.random.Generator) -> None:
    """More and more answers have a thought, of any length, which is paid for."""
    if random.random() < 0.2 + 0.02 * step:
        thought = " ".join(random.choice(WORDS, random.integers(5, 60)))
        sample |= {"response": f"<think>{thought}</think> {sample['response']}", "reward": sample["reward"] + 0.5}


def known(sample: dict[str, Any], step: int, random: np.random.Generator) -> None:
    sample["prompt"] = f"Held out {random.integers(60)}"


def the_same_prompts(samples: list[dict[str, Any]], step: int, random: np.random.Generator) -> None:
    for sample in samples if step >= 30 else ():
        sample["prompt"] = f"Question {int(sample['prompt'].split()[1]) % 8}"


def cut_off(sample: dict[str, Any], step: int, random: np.random.Generator) -> None:
    if random.random() < 0.02 * step:
        sample["response_tokens"] = 1_234_567


def advantage_nan(sample: dict[str, Any], step: int, random: np.random.Generator) -> None:
    sample["advantage"] = math.nan if step == 30 and random.random() < 0.2 else sample["reward"] - 0.5


def spike(step: int, random: np.random.Generator) -> dict[str, float]:
    return {"kl": 3.0} if step == 33 else {}


def up_and_down(step: int) -> float:
    return 0.3 + 0.02 * min(step, 20) - 0.035 * max(0, step - 20)


PLANTED: dict[str, tuple[str, dict[str, Any], tuple[str, ...]]] = {
    "the reward falls": ("reward", {"rate": up_and_down, "members": 8}, ("fallen since",)),
    "the reward rises": ("reward", {"rate": lambda step: 0.2 + 0.015 * step, "members": 8}, ("rose from",)),
    "the reward jumps": ("reward", {"rate": lambda step: 0.1 if step < 20 else 1.0}, ("at step 20",)),
    "the grader breaks": ("data", {"change": broken_grader}, ("Since step 30 every reward is 0",)),
    "an evaluation falls": (
        "held_out",
        {"rate": lambda step: 0.3 + 0.01 * step, "held_out": lambda step: 0.8 - 0.016 * step},
        ("fallen since",),
    ),
    "the grader pauses": ("data", {"change": paused_grader}, ("In steps 20 to 23 every reward is 0",)),
    "the grader stumbles": (
        "reward",
        {"change": stumbling_grader, "rate": lambda step: 0.7},
        ("In steps 20 to 24 the reward dipped to 0",),
    ),
    "the evaluation is trained on": (
        "data",
        {"held_out": lambda step: 0.3 + 0.01 * step, "change": known},
        ("60 of the 64 prompts of the evaluations are training prompts, word for word",),
    ),
    "labels are wrong": ("data", {"grouped": wrong_labels}, ("siblings agree on an answer that the label denies",)),
    "a source is never paid": (
        "data",
        {"grouped": unpaid_source},
        ("with `source` quiz have the lowest reward, 0; of",),
    ),
    "labels are missing": ("data", {"grouped": no_labels}, ("samples read have no label, and all of these have",)),
    "wrong answers are paid": ("data", {"grouped": paid_in_any_case}, ("Wrong answers have the highest reward",)),
    "one response is given to all": ("data", {"grouped": one_response}, ("One response makes up 100% of the samples",)),
    "one prompt comes too often": ("data", {"grouped": one_prompt}, ("One prompt makes up ", ": `Question 7`.")),
    "the same prompts come again": (
        "data",
        {"grouped": the_same_prompts},
        ("The samples of the last 8 steps have 8 prompts, each at 8 steps; as many of the first steps have 64",),
    ),
    "answers end at a limit": (
        "curves",
        {"change": cut_off},
        ("Answers that stop at the largest length of the run, probably a limit, rose from ",),
    ),
    "answers are empty": ("curves", {"change": empty}, ("Answers of 12 characters or fewer rose from 0% to ",)),
    "a phrase is paid for twice": (
        "paid_for",
        {"change": paid_twice, "members": 8},
        ("does not rise with it", "Within groups the reward pays +0.49 for "),
    ),
    "one letter is always given": (
        "paid_for",
        {"grouped": one_letter, "members": 8},
        ("the reward pays +0.", "for “b.”, as in “"),
    ),
    "a thought of any length is paid for": (
        "paid_for",
        {"change": thoughts, "members": 8},
        ("for thinking of any length, in ",),
    ),
    "another script spreads": ("curves", {"change": another_script}, ("Answers in a non-Latin script rose",)),
    "one environment fails": (
        "reward",
        {"grouped": one_environment},
        ("In the environment sql the reward fell from 0.",),
    ),
    "correctness falls": ("reward", {"change": abstains}, ("`correct` fell from 0.",)),
    "prompts state their labels": ("data", {"grouped": leaks}, ("The prompt states the label: ",)),
    "a habit spreads": ("answers", {"change": hedges}, ("Hedging in ",)),
    "advantages are NaN": ("data", {"change": advantage_nan}, ("NaN",)),
    "the engine's logprobs differ": (
        "curves",
        {
            "metrics": lambda step, random: {
                "logprob_diff_mean": (0.4 if step > 24 else 0.004) * random.uniform(0.8, 1.2)
            }
        },
        ("The trainer's mismatch KL has been high since step 25",),
    ),
    "the KL spikes": ("curves", {"metrics": spike}, ("step 33",)),
}
"""What is planted in a run, by name: the kind of the first sentence, how the run is written, and what is said of it."""


def test_of_a_quiet_run_it_says_that_the_reward_does_not_change(tmp_path: Path) -> None:
    (only,) = brief_of(write(tmp_path / "run", 1), tmp_path / "index").sentences
    assert only.kind == "reward" and "no clear change" in only.text


def test_what_spreads_stands_before_the_fall_of_the_reward(tmp_path: Path) -> None:
    first, second, *_ = brief_of(write(tmp_path / "run", 1, change=loops), tmp_path / "index").sentences
    assert first.kind == "curves" and first.text.startswith("Answers that repeat themselves rose from 1")
    assert second.kind == "reward" and "fallen since" in second.text


def easier(gain: float) -> Callable[[list[dict[str, Any]], int, np.random.Generator], None]:
    """Prompts get easier, and the answers to those of one difficulty as much better as `gain` says."""

    def grouped(samples: list[dict[str, Any]], step: int, random: np.random.Generator) -> None:
        difficulty = 1 if random.random() < 0.1 + 0.8 * step / 40 else 4
        for sample in samples:
            correct = float(random.random() < (0.8 if difficulty == 1 else 0.2) + gain * (step - 20) / 40)
            sample |= {"reward": correct, "metrics": {"difficulty": difficulty}, "tags": {"path": f"{step // 20}"}}

    return grouped


def test_prompts_that_change_explain_a_rise(tmp_path: Path) -> None:
    only, *_ = brief_of(write(tmp_path / "run", 1, grouped=easier(0)), tmp_path / "index").sentences
    assert re.search(
        r"rose from 0\.\d+ to 0\.\d+ \(means of 4 steps\) because the prompts changed: `difficulty` 1 makes up \d+% → "
        r"\d+% of them, and within one `difficulty` the reward shows no clear change, [+−]0\.0\d+ ±0\.\d+\.",
        only.text,
    ), only.text
    learned = brief_of(write(tmp_path / "learned", 1, grouped=easier(0.3)), tmp_path / "index").sentences
    assert not any("because" in one.text for one in learned), learned


def test_prompts_that_nobody_wrote_down_are_not_compared(tmp_path: Path) -> None:
    def unknown(sample: dict[str, Any], step: int, random: np.random.Generator) -> None:
        del sample["prompt"]

    run = write(tmp_path / "run", 1, change=unknown, held_out=lambda step: 0.8 - 0.016 * step)
    log = next(run.glob("samples/*.jsonl"))
    log.write_text(re.sub(r'"prompt": *"[^"]*", *', "", log.read_text()))
    (first, *_), found = brief_of(run, tmp_path / "index").sentences, rolloupe.open(run).runs[0].lint()
    assert "fallen since" in first.text and "prompt" not in first.text
    assert not {one.rule for one in found.broken} & {"trained_evals", "few_prompts"}


def test_prompts_without_a_tag_explain_a_fall(tmp_path: Path) -> None:
    def grouped(samples: list[dict[str, Any]], step: int, random: np.random.Generator) -> None:
        is_easy = random.random() < 0.9 - 0.8 * step / 40
        for sample in samples:
            correct = float(random.random() < (0.8 if is_easy else 0.2))
            sample |= {"reward": correct, "metrics": {}, "tags": {"level": "easy"} if is_easy else {}}

    first, *_ = brief_of(write(tmp_path / "run", 1, grouped=grouped), tmp_path / "index").sentences
    assert "because the prompts changed: `level` no value makes up" in first.text, first.text


def test_what_siblings_earn_in_a_group_is_no_change_of_the_prompts(tmp_path: Path) -> None:
    def grouped(samples: list[dict[str, Any]], step: int, random: np.random.Generator) -> None:
        for sample in samples:
            sample["metrics"] = {"solved_in_group": sum(one["reward"] for one in samples)}

    run = write(tmp_path / "run", 1, grouped=grouped, rate=lambda step: 0.2 + 0.015 * step)
    assert not any("because" in one.text for one in brief_of(run, tmp_path / "index").sentences)


def test_a_value_of_a_tag_that_comes_with_a_fall_stands_before_it(tmp_path: Path) -> None:
    def change(sample: dict[str, Any], step: int, random: np.random.Generator) -> None:
        sample["tags"] = {"sand box": "no OutOfMemory", "policy": f"v{step // 20}"}
        if step >= 25 and random.random() < 0.8:
            sample |= {"reward": 0.0, "tags": sample["tags"] | {"sand box": "OutOfMemory"}}

    first, second, *_ = brief_of(write(tmp_path / "run", 1, change=change), tmp_path / "index").sentences
    assert re.fullmatch(r"`sand box` OutOfMemory in 0% → [78]\d% of samples, which earn 0\.", first.text)
    assert first.evidence.where == '"sand box" = OutOfMemory' and "fallen since" in second.text


def test_a_part_of_the_reward_that_falls_is_told_with_the_rise(tmp_path: Path) -> None:
    def change(sample: dict[str, Any], step: int, random: np.random.Generator) -> None:
        answer, cited = sample["reward"], min(1.0, 0.1 + 0.025 * step)
        sample |= {"reward": answer + cited, "metrics": {"reward.answer": answer, "reward.cited": cited}}

    run = write(tmp_path / "run", 1, rate=lambda step: 0.7 - 0.012 * step, change=change)
    first = brief_of(run, tmp_path / "index").sentences[0]
    assert re.match(r"`answer` fell from 0\.\d+ to 0\.\d+ .*, while the reward rose", first.text), first.text


def test_the_reward_of_a_run_that_is_never_right_has_not_fallen(tmp_path: Path) -> None:
    run = write(tmp_path / "run", 1, rate=lambda step: -0.6)
    sentences = brief_of(run, tmp_path / "index").sentences
    assert "have equal rewards" in sentences[0].text and "no clear change" in sentences[-1].text


def test_a_value_of_a_tag_that_comes_with_a_dip_stands_behind_it(tmp_path: Path) -> None:
    run = write(tmp_path / "run", 1, change=stumbling_grader, rate=lambda step: 0.7)
    first, second, *_ = brief_of(run, tmp_path / "index").sentences
    assert "dipped" in first.text and second.evidence.where == "log contains SandboxError:"
    assert re.fullmatch(r"`log` SandboxError in 0% → [89]\d% of samples, which earn 0 in these steps\.", second.text)


def test_what_spreads_and_is_paid_for_is_told_with_a_fall_of_the_evaluation(tmp_path: Path) -> None:
    def change(sample: dict[str, Any], step: int, random: np.random.Generator) -> None:
        if random.random() < 0.05 + 0.8 * step / 40:
            sample |= {"reward": 1.0, "metrics": {"correct": 1.0}}
            sample["response"] += " return the expected table of values"

    run = write(tmp_path / "run", 1, change=change, held_out=lambda step: 0.8 - 0.016 * step)
    first = brief_of(run, tmp_path / "index").sentences[0]
    assert first.kind == "held_out" and re.search(
        r"fallen since: .*, while the reward rose .*; meanwhile “.*reward", first.text
    )


def test_entropy_that_diverges_is_told_with_the_fall(tmp_path: Path) -> None:
    def metrics(step: int, random: np.random.Generator) -> dict[str, float]:
        return {"entropy": 0.5 if step < 25 else 4.0}

    run = write(tmp_path / "run", 1, rate=lambda step: up_and_down(step) - 0.3 * (step > 25), metrics=metrics)
    first, *others = brief_of(run, tmp_path / "index").sentences
    assert (
        "fallen since" in first.text and "entropy rose from 0.5 to 4, medians of the first and last fifth" in first.text
    )
    assert not any("ntropy" in one.text for one in others)


def test_a_habit_without_a_fall_stands_behind_what_is_paid_for(tmp_path: Path) -> None:
    def change(sample: dict[str, Any], step: int, random: np.random.Generator) -> None:
        paid_twice(sample, step, random)
        if random.random() < 0.6 * step / 40:
            sample["response"] += ". " + "We check the result once more. " * 12

    kinds = [one.kind for one in brief_of(write(tmp_path / "run", 1, change=change), tmp_path / "index").sentences]
    assert kinds[0] == "paid_for" and "curves" in kinds[1:]


def test_a_run_that_has_solved_everything_is_not_broken(tmp_path: Path) -> None:
    run = write(tmp_path / "run", 1, rate=lambda step: 0.2 + 0.08 * step)
    sentences = brief_of(run, tmp_path / "index").sentences
    assert [sentence.kind for sentence in sentences] == ["curves", "reward"] and "rose" in sentences[1].text


def test_prompts_are_compared_with_themselves_and_a_fall_is_told_with_the_rise_of_the_reward(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    with Recorder(tmp_path / "run", code=None) as run:
        for step, group in itertools.product(range(20), range(60)):
            reward = float(random.random() < 0.2 + 0.03 * step)
            run.sample(step=step, group=str(group), index=0, prompt=f"{group}", response="x", reward=reward)
            if step % 10 == 9:
                reward = float(group < (18 if step == 19 else 30))
                run.sample(
                    step=step, split="eval/aime", group=str(group), index=0, prompt=f"Question {group}", response="x",
                    reward=reward,
                )  # fmt: skip
    (only,) = brief_of(tmp_path / "run", tmp_path / "index").sentences
    assert only.kind == "held_out"
    assert "aime fell from 50% to 30% correct, compared on the same 60 prompts, while the reward rose" in only.text
    assert only.text.endswith("; it trains on 60 prompts, each at 20 steps.")


@pytest.mark.parametrize(
    ("rates", "text"),
    [
        ([0.5, 0.6, 0.75, 0.7, 0.5, 0.35, 0.25], "held was best at step 4 and has fallen since: "),
        ([0.5] * 10, "No clear change over 10 evaluations"),
    ],
)
def test_a_few_evaluations_are_enough_for_a_clear_fall(rates: list[float], text: str, tmp_path: Path) -> None:
    steps = 2 * len(rates)
    run = write(tmp_path / "run", 1, steps=steps, held_out=lambda step: rates[step // 2])
    told = [sentence.text for sentence in brief_of(run, tmp_path / "index").sentences if sentence.kind == "held_out"]
    assert len(told) == 1 and text in told[0]


def test_a_source_that_is_never_paid_is_found_by_its_beginning(tmp_path: Path) -> None:
    """Values are compared up to a colon, and so does the filter that leads to their samples."""

    def change(samples: list[dict[str, Any]], step: int, random: np.random.Generator) -> None:
        source = str(random.choice(["forum", "exam", "quiz:"]))
        for index, sample in enumerate(samples):
            sample["tags"] = {"source": source + f" part {index}" * (source == "quiz:")}
            if source == "quiz:":
                sample["reward"] = 0.0

    first = brief_of(write(tmp_path / "run", 1, grouped=change), tmp_path / "index").sentences[0]
    assert "with `source` quiz have the lowest reward" in first.text
    assert first.evidence.where == "source contains quiz:"


def test_a_fall_since_the_best_is_one_of_all_prompts(tmp_path: Path) -> None:
    """Each prompt compared with itself fell, too, but along all steps: that is not the fall that is told."""
    with Recorder(tmp_path / "run", code=None) as run:
        for (step, right), group in itertools.product(enumerate((28, 47, 38, 30, 20)), range(60)):
            run.sample(
                step=step, split="eval/held", group=str(group), index=0, prompt=f"Question {group}", response="x",
                reward=float(group < right), metrics={"correct": float(group < right)},
            )  # fmt: skip
    (only,) = brief_of(tmp_path / "run", tmp_path / "index").sentences
    assert only.text == "held was best at step 1 and has fallen since: 78% → 33% correct."


def test_prompts_that_soon_go_are_not_compared_with_themselves(tmp_path: Path) -> None:
    """Each prompt is asked at two successive evaluations, rightly and then wrongly: no prompt saw the whole run."""
    with Recorder(tmp_path / "run", code=None) as run:
        for step, group, age in itertools.product(range(12), range(20), range(2)):
            run.sample(
                step=step, split="eval/held", group=f"{step - age} {group}", index=0, response="x",
                prompt=f"Question {step - age} {group}", reward=float(age == 0), metrics={"correct": float(age == 0)},
            )  # fmt: skip
    (only,) = brief_of(tmp_path / "run", tmp_path / "index").sentences
    assert "compared" not in only.text and "No clear change" in only.text
    opened = rolloupe.open(tmp_path / "run", index_dir=tmp_path / "index").runs[0].indexed()
    assert paired_change(opened, "eval/held").prompts == 0


def test_a_brief_of_one_step_has_its_mean(tmp_path: Path) -> None:
    (only,) = brief_of(write(tmp_path / "run", 1, steps=1), tmp_path / "index").sentences
    assert only.text.startswith("The mean reward of the 64 samples of step 0 is ") and only.steps == (0, 0)
    with Recorder(tmp_path / "some", code=None) as run:
        for number in range(8):
            run.sample(step=0, group=str(number), prompt="p", response="r", reward=None if number > 5 else number % 2)
    (only,) = brief_of(tmp_path / "some", tmp_path / "index").sentences
    assert only.text == "The mean reward of step 0 is 0.5: 6 of its 8 samples have one."


def test_a_run_of_evaluations_alone_has_them_all_in_one_sentence(tmp_path: Path) -> None:
    with Recorder(tmp_path / "run", code=None) as run:
        for step, split, group in itertools.product((0, 50), ("eval/aime", "eval/amc"), range(20)):
            correct = float(group % 4 == 0)
            run.sample(
                step=step, split=split, group=str(group), index=0, prompt=f"Question {group}", response="x",
                reward=correct, metrics={"correct": correct},
            )  # fmt: skip
    (only,) = brief_of(tmp_path / "run", tmp_path / "index").sentences
    assert only.kind == "held_out" and "aime 25% → 25% (±" in only.text


def test_an_empty_run_has_nothing_to_say(tmp_path: Path) -> None:
    assert brief_of(write(tmp_path / "run", 1, steps=0), tmp_path / "index").sentences == []


def test_the_demo_is_told_as_it_is(demo_index: Path) -> None:
    first, second, third = brief_of(RUNS / "tiny_grpo", demo_index).sentences
    assert first.kind == "paid_for" and first.evidence.finding == "derived.repeated_sentences"
    assert second.kind == "reward" and "best at step 89" in second.text
    assert third.kind == "held_out"


def test_windows_have_means_by_samples_and_the_noise_of_their_steps() -> None:
    values, weights = np.array([1.0, 0.0] * 10), np.array([1.0, 3.0] * 10)
    windows = windows_of(range(20), values, weights, np.zeros(20))
    assert windows.width == 2 and windows.means == pytest.approx([0.25] * 19)
    assert windows.error == pytest.approx(1 / 0.6745 / math.sqrt(2))
    assert windows_of([0], np.ones(1), np.full(1, 64.0), np.full(1, 0.5)).error == pytest.approx(0.5 / 8 * math.sqrt(2))


@pytest.mark.slow
def test_what_is_planted_in_runs_of_ten_kinds_is_said_first(tmp_path: Path) -> None:
    missed = []
    for number, planted in enumerate(RUNS_OF_TEN_KINDS):
        run = write(tmp_path / str(number), 1000 + number, **planted.how)
        first = brief_of(run, tmp_path / "index").sentences[0]
        if not re.search(planted.words, first.text):
            missed.append((planted.kind, first.text))
    assert len(missed) <= 2, missed


@pytest.mark.slow
def test_quiet_runs_say_next_to_nothing_else(tmp_path: Path) -> None:
    said, doubtful = [], list[bool]()
    for seed in range(200):
        brief = brief_of(write(tmp_path / str(seed), seed), tmp_path / "index")
        said += [(seed, one.text) for one in brief.sentences if one.kind not in ("reward", "held_out")]
        rewards = [one.text for one in brief.sentences if one.kind == "reward" and "no clear" not in one.text]
        doubtful += ["may have" in text for text in rewards]
        said += [(seed, text) for text in rewards if "may have" not in text]
    assert len(said) <= 2, said
    assert len(doubtful) <= 10, "chance alone exceeds 2.5 standard errors in 1 % of the runs"
