"""The rules of lint that read samples whole, and those about versions and texts that come again."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from time import process_time
from typing import Any

import pytest

import rolloupe
from rolloupe.insight.lint import LINT_RULES, RunLint
from rolloupe.insight.lint.sample_rules import final_answer, plain_answer
from rolloupe.insight.lint.search import MOST_READ

SampleRecord = dict[str, Any]

SOUND: SampleRecord = {
    "prompt": "What is the name of the largest city of Canada?", "response": "It is Toronto.", "label": "Toronto",
    "status": "completed", "reward": 1.0, "prompt_tokens": 2, "token_ids": [5, 6, 7, 8, 9, 2],
    "tokens": ["It is ", "Toron", "to.", "<|im_end|>"], "metrics": {"policy_version": 1},
    "series": {"logprobs": [-0.5, -0.25, -0.125, -0.5], "loss_mask": [0, 0, 1, 1, 1, 1]},
}  # fmt: skip


def linted(
    folder: Path, change: Callable[[int, SampleRecord], Mapping[str, Any]], config: object = None, steps: int = 3
) -> RunLint:
    """Lint a run with 2 samples a step; `change` says what of one differs from the sound one."""
    with rolloupe.Recorder(folder / "run", config=config) as recorder:
        for step in range(steps):
            for index in range(2):
                changed = {**SOUND, **change(step, SOUND)}
                recorder.sample(**dict[str, Any](changed, step=step, group="a", index=index))
            recorder.step_end(step)
    return rolloupe.open(folder / "run", index_dir=folder / "index").runs[0].lint()


def masked(*mask: int) -> dict[str, Any]:
    """Another loss mask."""
    return {"series": {"logprobs": [-0.5, -0.25, -0.125, -0.5], "loss_mask": [*mask]}}


BREAKS: dict[str, Mapping[str, Any]] = {
    "unequal_lengths": {"series": {"logprobs": [-0.5, -0.25, -0.125]}},
    "other_text": {"response": "It is Ottawa."},
    "empty_mask": masked(0, 0, 0, 0, 0, 0),
    "prompt_in_mask": masked(0, 1, 1, 1, 1, 1),
    "masked_end": masked(0, 0, 1, 1, 1, 0),
    "mask_gap": masked(0, 0, 1, 0, 1, 1),
    "stated_labels": {"prompt": "Which city? Answer: Toronto"},
}


def test_a_sound_run_breaks_no_rule_of_samples(tmp_path: Path) -> None:
    found = linted(tmp_path, lambda step, one: {"metrics": {"policy_version": 1 + step}})
    assert found.broken == [] and {*BREAKS, "policy_lag"} <= {*found.checked} and found.read == 6


def test_a_step_breaks_each_rule(tmp_path: Path) -> None:
    changes = [*BREAKS.values()]
    found = linted(tmp_path, lambda step, _: changes[step], steps=len(changes))
    for step, rule in enumerate(BREAKS):
        (one,) = [one for one in found.broken if one.rule == rule]
        assert (one.is_certain, one.count) == (LINT_RULES[rule].is_certain, 2)
        assert one.samples == [f"train/{step}/a/0", f"train/{step}/a/1"] and one.text.endswith("samples read.")
    assert len(found.broken) == len(BREAKS)


LABELS: dict[str, tuple[str, dict[str, Any], int]] = {
    "a prompt that states its label": ("stated_labels", {"prompt": "Which? (Reference answer: 7)", "label": "7"}, 8),
    "examples before the question": (
        "stated_labels", {"prompt": "Q: 3+4? Answer: 7\nQ: 2+2? Answer: 4\nQ: 1+6?", "label": "7"}, 0,
    ),
    "a choice": ("stated_labels", {"prompt": "End with Answer: yes or no", "label": "yes"}, 0),
    "another number": ("stated_labels", {"prompt": "Which? Key: 70", "label": "7"}, 0),
    "a grader that wants no commas": ("unpaid_labels", {"response": "#### $1,250", "label": "1250", "reward": 0.0}, 8),
    "a grader that compares texts": (
        "unpaid_labels", {"response": "It is \\boxed{14/4}.", "label": "\\dfrac{7}{2}", "reward": 0.0}, 8,
    ),
    "a label with its unit": ("unpaid_labels", {"response": "#### 300", "label": "300 km/h", "reward": 0.0}, 8),
    "an object in another form": (
        "unpaid_labels",
        {"response": '```json\n{"b": 1250.0, "a": "x"}\n```', "label": '{"a": "x", "b": "1,250"}', "reward": 0.0}, 8,
    ),
    "an object within another": (
        "unpaid_labels", {"response": '{"b": 1,\n {"a": 1}', "label": '{"b": 2,\n "c":\n {"a": 1}}', "reward": 0.0}, 0,
    ),
    "another object": ("unpaid_labels", {"response": '{"a": 2}', "label": '{"a": 1}', "reward": 0.0}, 0),
    "a wrong answer that is paid": (
        "paid_wrong", {"response": "#### 1,251", "label": "1250", "reward": 2.0}, 8,
    ),
    "a wrong answer": ("unpaid_labels", {"response": "#### 1,251", "label": "1250", "reward": 0.0}, 0),
    "a right answer": ("unpaid_labels", {"response": "#### 1,250", "label": "1250", "reward": 1.0}, 0),
}  # fmt: skip


@pytest.mark.parametrize("case", LABELS)
def test_labels_that_are_stated_and_right_answers_that_are_not_paid(case: str, tmp_path: Path) -> None:
    rule, change, count = LABELS[case]
    no_tokens = {"tokens": None, "token_ids": None, "series": None, "prompt_tokens": None}
    found = linted(tmp_path, lambda step, _: {**change, **no_tokens} if step < 4 else {}, steps=6)
    assert [(one.count, one.is_certain) for one in found.broken if one.rule == rule] == [(count, False)] * bool(count)


SAME = [
    ("10/3", r"\frac{10}{3}"), ("1/2", r"\frac12"), ("0.50", "1/2"), ("-7", "-7.0"), ("$1,250.00", "1250"),
    (r"5 \text{ cm}", "5"), (r"\text{Anna}", "anna"), (r"50\%", "50"), (r"1{,}250", "1250"), (r"\$3", "3"),
    ("(B)", "b"),
]  # fmt: skip


def test_numbers_are_equal_however_they_are_written() -> None:
    assert [plain_answer(one) == plain_answer(other) != "" for one, other in SAME] == [True] * len(SAME)
    assert [plain_answer(one) for one in ("1/0", "x + 1", r"\frac{x}{2}", "", "a b", "3 4", r"\text{}")] == [""] * 7
    assert final_answer(r"So \boxed{\frac{10}{3}}.") == "10/3" == final_answer("#### 20/6")


def test_it_is_said_since_when_right_answers_are_unpaid(tmp_path: Path) -> None:
    no_tokens = {"tokens": None, "token_ids": None, "series": None, "prompt_tokens": None}
    right = {"response": "Answer: Toronto", **no_tokens}
    found = linted(tmp_path, lambda step, _: {**right, "reward": 0.0} if step >= 6 else right, steps=11)
    texts = [one.text for one in found.broken if one.rule == "unpaid_labels"]
    words = "10 of 10 right answers read since step 6, none of 12 before."
    assert len(texts) == 1 and texts[0].endswith(words)


def test_blanks_cost_no_time(tmp_path: Path) -> None:
    begin = process_time()
    prompt = f"Which? Answer: 7{' ' * 100_000}x" + "\n" * 100_000
    linted(tmp_path, lambda step, _: {"prompt": prompt, "response": "\n" * 100_000, "label": '{"a": 1}'}, steps=2)
    linted(tmp_path / "number", lambda step, _: {"prompt": prompt, "label": "7"}, steps=2)
    assert process_time() - begin < 20


PURPOSES = {
    "cut off": {"status": "truncated", "reward": 0.0, **masked(0, 0, 0, 0, 0, 0)},
    "discarded": {"discarded": "filtered", **masked(0, 0, 0, 0, 0, 0)},
    "special tokens and blanks": {"response": "It is  Toronto.<|im_end|>\n"},
    "choices": {"prompt": "Which?\nA) Toronto\nB) Ottawa"},
    "the turn of a tool": {"turns": 2, **masked(0, 0, 1, 0, 1, 1)},
    "no end token": {"tokens": ["It is ", "Toron", "to", "."], **masked(0, 0, 1, 1, 1, 0)},
}


def test_what_trainers_do_on_purpose_breaks_no_rule(tmp_path: Path) -> None:
    changes = [*PURPOSES.values()]
    assert linted(tmp_path, lambda step, _: changes[step], steps=len(changes)).broken == []


def test_arrays_that_a_format_cuts_differ_in_length(tmp_path: Path) -> None:
    row = {"prompt": "1+1?", "response": "two", "step": 0, "reward": 1.0, "logprobs": [-0.5, -0.25], "entropy": [0.5]}
    (tmp_path / "run.jsonl").write_text(json.dumps(row) + "\n")
    found = rolloupe.open(tmp_path / "run.jsonl", index_dir=tmp_path / "index").runs[0].lint()
    assert [one.rule for one in found.broken] == ["unequal_lengths"] and found.is_broken


@pytest.mark.parametrize(
    ("metrics", "config", "text"),
    [
        ({"policy_version": -20}, None, "more than 8 versions behind: 1 sample, the worst 21."),
        ({"staleness": 3}, {"async": {"max_async_level": 2}}, "2 versions behind, the most that the run's"),
        ({"staleness": 3}, None, ""),
        ({"policy_version": float("inf")}, None, ""),
    ],
)
def test_a_policy_lags(metrics: Mapping[str, float], config: object, text: str, tmp_path: Path) -> None:
    one = {"metrics": metrics}
    first = iter([one])
    found = linted(tmp_path, lambda step, _: next(first, {}) if step == 1 else {}, config)
    assert [text in broken.text and broken.rule == "policy_lag" for broken in found.broken] == [True] * bool(text)


def test_lint_reads_few_samples_of_a_large_run_at_all_its_steps(tmp_path: Path) -> None:
    (tmp_path / "run/samples").mkdir(parents=True)
    (tmp_path / "run/rolloupe.json").write_text('{"layout": "rolloupe", "version": 1}')
    rows = [
        {"split": "train", "step": step, "group": "a", "index": str(index), "prompt": "1?", "response": "One.",
         "label": "1?" + "x" * 4, "turns": 1} for step in range(40) for index in range(50)
    ]  # fmt: skip
    for row in rows[1000:]:
        row["prompt"] = f"Answer: {row['label']}"
    (tmp_path / "run/samples/rank0.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = rolloupe.open(tmp_path / "run", index_dir=tmp_path / "index").runs[0].lint()
    (one,) = [one for one in found.broken if one.rule == "stated_labels"]
    assert found.read == MOST_READ and one.count == MOST_READ // 2
    assert "128 of 128 samples read since step 20, none of 128 before" in one.text
