"""A person's field map, and the samples that it finds: in rows, in lists of a document, by ids, in parallel lists."""

import json
from pathlib import Path
from typing import Any

import pytest

from rolloupe.formats import discover, fields_in
from rolloupe.formats.reading.field_map import MISSING, member
from rolloupe.model import Problem
from tests.formats.support import items, only_run, rows, samples

Read = list[tuple[str, str, float | None]]


def read(place: Path, value: Any, named: str = "", *, lines: bool = False) -> Read:
    """Prompt, response and reward of each sample of a document, or of lines, as it is loaded."""
    place.mkdir(exist_ok=True)
    text = "\n".join(json.dumps(one) for one in value) if lines else json.dumps(value, indent=1)
    (place / ("log.jsonl" if lines else "log.json")).write_text(text)
    run = only_run(place, fields=fields_in(named) if named else ())
    found = [(one.prompt_text, one.response_text, one.row.reward) for one in samples(run)]
    assert [row.reward for row in rows(run)] == [reward for _, _, reward in found]
    return found


SCORES: dict[str, tuple[list[Any], list[float | None]]] = {
    "words": (["correct", "incorrect", "Correct"], [1, 0, 1]),
    "passes": (["pass", "FAILED", "pass"], [1, 0, 1]),
    "answers": (["yes", "no", "no"], [1, 0, 0]),
    "letters": (["A", "B", "A"], [None, None, None]),
    "some words": (["correct", "partly", None], [1, None, None]),
    "truths": ([True, False, True], [1, 0, 1]),
    "quoted": (["8", "7.5", "10"], [8, 7.5, 10]),
}


@pytest.mark.parametrize("kind", SCORES)
def test_the_list_of_a_document_is_found_by_its_keys_whatever_the_score_is(tmp_path: Path, kind: str) -> None:
    written, rewards = SCORES[kind]
    cases = [{"idx": n, "asked": f"Q{n}", "said": f"a {n}", "verdict": one} for n, one in enumerate(written)]
    document = {"version": 2, "config": {"model": "m"}, "summary": {"accuracy": 0.9}, "accuracy": 0.9, "cases": cases}
    named = "response=said,prompt=asked,reward=verdict"
    assert read(tmp_path / "list", document, named) == [(f"Q{n}", f"a {n}", reward) for n, reward in enumerate(rewards)]
    assert read(tmp_path / "below", {"out": document}, named) == read(tmp_path / "list", document, named)
    words = [one for one in written if isinstance(one, str) and not one[0].isdigit()]
    tags = [row.tags["reward"] for row in rows(only_run(tmp_path / "list", fields=fields_in(named))) if row.tags]
    assert tags == words
    unnamed = {*rewards} if kind == "truths" else {None}  # the only number that means a judgement
    assert {reward for _, _, reward in read(tmp_path / "texts", document, "response=said")} == unnamed


def test_samples_by_their_ids_are_found_by_the_keys_of_their_members(tmp_path: Path) -> None:
    cases = {
        f"{40 + n}": {"pid": n, "asked": f"Q{n}", "said": f"a {n}", "hit": n == 1, "precision": 1} for n in range(3)
    }
    expected = [("Q0", "a 0", 0.0), ("Q1", "a 1", 1.0), ("Q2", "a 2", 0.0)]
    assert read(tmp_path / "ids", cases, "response=said,prompt=asked,reward=hit") == expected
    below = {"model": "m", "cases": cases}
    assert read(tmp_path / "below", below, "response=said,prompt=asked,reward=hit") == expected
    (run,) = [only_run(tmp_path / "ids", fields=fields_in("response=said,prompt=asked,reward=hit"))]
    assert [row.tags["id"] for row in rows(run)] == ["40", "41", "42"]


def test_each_line_may_be_one_sample_by_its_id(tmp_path: Path) -> None:
    lines = [{f"task {n}": {"asked": "Q", "said": f"a {n}", "mark": n}} for n in range(2)]
    found = read(tmp_path / "run", lines, "response=said,prompt=asked,reward=mark", lines=True)
    assert found == [("Q", "a 0", 0), ("Q", "a 1", 1)]


def test_no_line_is_advised_for_a_list_that_a_person_has_named(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text(json.dumps({"question": "Q", "response": "a", "marks": [1, 2]}) + "\n")
    (problem,) = items(only_run(tmp_path, fields=fields_in("reward=marks")))
    assert isinstance(problem, Problem) and "--map reward=KEY.0" in problem.reason


def test_what_a_person_names_outdoes_the_lists_of_a_row(tmp_path: Path) -> None:
    line = {
        "question": "Q", "first": "one text", "second": "another",
        "judgments": [{"by": {"response": "", "scores": [5.5, 14.5]}}, {"by": {"response": "", "scores": [14.5, 5.5]}}],
    }  # fmt: skip
    first = read(tmp_path / "first", [line] * 2, "response=first,reward=judgments.0.by.scores.0", lines=True)
    assert first == [("Q", "one text", 5.5)] * 2
    second = read(tmp_path / "second", [line], "response=second,reward=judgments.0.by.scores.1", lines=True)
    assert second == [("Q", "another", 14.5)]
    own = {"question": "Q", "response": "mine", "tries": [{"response": "x", "score": 1}, {"response": "y", "score": 0}]}
    assert read(tmp_path / "reward", [own | {"mark": 3}], "reward=mark", lines=True) == [("Q", "mine", 3)]
    assert read(tmp_path / "usual", [own], "prompt=question", lines=True) == [("Q", "x", 1), ("Q", "y", 0)]


def test_a_line_about_several_scores_is_true(tmp_path: Path) -> None:
    line = {"question": "Q", "checks": [{"judgment": {"response": "a", "scores": [2, 4]}}]}
    (tmp_path / "log.jsonl").write_text(json.dumps(line) + "\n")
    (problem,) = items(only_run(tmp_path))
    assert isinstance(problem, Problem)
    (row,) = rows(only_run(tmp_path, fields=fields_in(problem.reason.partition("--map ")[2])))
    assert (row.response, row.reward) == ("a", 2)
    (tmp_path / "log.jsonl").write_text(json.dumps(line).replace('"a"', '""') + "\n")
    found = discover([tmp_path])
    assert found.runs == [] and "(keys: question, checks)" in found.notes[0].reason, found.notes
    assert "reward=scores.0" not in found.notes[0].reason
    (problem,) = items(only_run(tmp_path, format="generic"))
    assert isinstance(problem, Problem) and "its texts are question" in problem.reason
    assert "reward=scores.0" not in problem.reason


def test_a_row_without_the_key_is_not_read_from_an_object_in_it(tmp_path: Path) -> None:
    lines = [{"asked": "Q", "said": "a", "mark": 1}, {"asked": "P", "error": {"said": "no answer", "mark": 9}}]
    found = read(tmp_path / "run", lines, "response=said,prompt=asked,reward=mark", lines=True)
    assert found == [("Q", "a", 1), ("P", "", None)]


@pytest.mark.parametrize("lines", [False, True])
def test_parallel_lists_under_any_keys_are_a_group_of_each_row(tmp_path: Path, lines: bool) -> None:
    records = [
        {"idx": n, "ys": [f"a {n}", f"b {n}", f"c {n}"], "infos": [{"r": 0}, {"r": 1}, {}], "steps": [{"ys": ["x"]}]}
        for n in range(3)
    ]
    expected = [("", f"{y} {n}", reward) for n in range(3) for y, reward in (("a", 0), ("b", 1), ("c", None))]
    assert read(tmp_path / "run", records, "response=ys,reward=infos.r", lines=lines) == expected
    groups = [row.group for row in rows(only_run(tmp_path / "run", fields=fields_in("response=ys,reward=infos.r")))]
    assert [len({*groups[first : first + 3]}) for first in (0, 3, 6)] == [1, 1, 1] and len({*groups}) == 3


def test_usual_lists_without_a_prompt_are_a_group_of_each_row(tmp_path: Path) -> None:
    read(tmp_path / "run", [{"completions": ["a", "b"], "rewards": [1, 0]}] * 2, lines=True)
    groups = [row.group for row in rows(only_run(tmp_path / "run"))]
    assert groups[0] == groups[1] != groups[2] == groups[3]


def test_lists_of_samples_by_the_names_of_tasks_are_all_read(tmp_path: Path) -> None:
    def case(task: str, n: int) -> dict[str, Any]:
        return {"doc_id": n, "doc": {"question": f"{task} {n}"}, "resps": [[f"a {n}"]], "acc": n % 2}

    tasks = {task: [case(task, n) for n in range(2)] for task in ("sums", "words")}
    expected = [(f"{task} {n}", f"a {n}", float(n)) for task in tasks for n in range(2)]
    whole = {"results": {task: {"acc,none": 0.5} for task in tasks}, "config": {"model": "hf"}, "samples": tasks}
    for name, document in {"samples": whole, "alone": tasks, "deeper": {"run": whole}}.items():
        assert read(tmp_path / name, document) == expected
        assert len({row.group for row in rows(only_run(tmp_path / name))}) == 4
    choices = [{**one, "resps": [[[-1.5, False]], [[-2.5, True]]]} for one in tasks["words"]]
    mixed = read(tmp_path / "choices", whole | {"samples": {"sums": tasks["sums"], "words": choices}})
    assert [(prompt, reward) for prompt, _, reward in mixed] == [(prompt, reward) for prompt, _, reward in expected]


def test_a_list_of_some_of_the_samples_is_not_read_twice(tmp_path: Path) -> None:
    cases = [{"prompt": f"Q{n}", "response": "a", "reward": n % 2} for n in range(4)]
    assert len(read(tmp_path / "run", {"failed": cases[::2], "all": cases})) == 4
    halves = {"train": cases[:2], "test": cases[2:]}
    assert len(read(tmp_path / "other", halves)) == 4
    beside = {"config": {"model": "m"}, "step": 7, "reward": 0.5, "summary": [{"of": "train"}], **halves}
    expected = [(f"Q{n}", "a", float(n % 2)) for n in range(4)]
    assert read(tmp_path / "beside", beside) == expected == read(tmp_path / "named", beside, "reward=reward")[-4:]
    assert {row.step for row in rows(only_run(tmp_path / "beside"))} == {7}


def test_a_word_is_a_score_and_stays_a_tag(tmp_path: Path) -> None:
    lines = [{"prompt": "Q", "response": "a", "score": one} for one in ("correct", "incorrect", "unclear", "0.5")]
    assert [reward for _, _, reward in read(tmp_path / "run", lines, lines=True)] == [1, 0, None, 0.5]
    assert [row.tags.get("score") for row in rows(only_run(tmp_path / "run"))] == [
        "correct", "incorrect", "unclear", None
    ]  # fmt: skip
    verdicts = [{"question": "Q", "response": "a", "correct": "yes", "is_correct": one} for one in ("True", "False")]
    assert [reward for _, _, reward in read(tmp_path / "verdicts", verdicts, lines=True)] == [1, 0]
    parts = [{"prompt": "Q", "response": "a", "reward": one} for one in ({"score": "7"}, {"score": "pass", "fmt": 1})]
    assert [reward for _, _, reward in read(tmp_path / "parts", parts, lines=True)] == [7, 1]


def test_a_key_leads_through_lists_of_objects_but_not_through_messages() -> None:
    infos = {"infos": [{"r": {"x": 1}}, {"r": {"x": 2}}, {"s": 1}]}
    assert member(infos, "infos.r.x") == [1, 2, None]
    assert member(infos, "infos.1.r.x") == 2
    assert member({"chat": [{"role": "user", "content": "q"}]}, "chat.content") is MISSING


TURNS = [
    {"step": 0, "seen": 1, "generated_text": "look", "observation": "milk", "step_reward": -0.5},
    {"step": 1, "generated_text": None, "tool_calls": [{"name": "buy", "arguments": {}}], "step_reward": 1.5},
    None,
]


@pytest.mark.parametrize("key", ["turns", "response", "log.turns"])
def test_a_list_of_turns_under_a_named_key_is_one_transcript(tmp_path: Path, key: str) -> None:
    inner = {"log": {"turns": TURNS}} if "." in key else {key: TURNS}
    row = {"task": "t", "prompt": "buy milk", "total_reward": 1.4, **inner}
    named = f"response={key},reward=total_reward"
    (found,) = read(tmp_path / "lines", [row], named, lines=True)
    assert found[:1] + found[2:] == ("buy milk", 1.4)
    assert found[1].startswith("look\n\nmilk\n\n") and "buy" in found[1]
    document = {"epoch": 1, "groups": [{"task": "t", "mean_reward": 0.7, "rollouts": [row, row]}]}
    assert read(tmp_path / "document", document, named) == [found, found]
    if key == "turns":
        (one,) = samples(only_run(tmp_path / "lines", fields=fields_in(named)))
        assert one.extra["turns"] == TURNS
        assert [turn.role for turn in one.turns if turn.origin == "response"] == ["assistant", "tool", "assistant"]


def test_a_named_reward_fixes_the_row_unless_the_objects_in_it_have_the_key_too(tmp_path: Path) -> None:
    row = {"prompt": "Q", "total": 3, "tries": [{"response": "x", "score": 1}, {"response": "y", "score": 0}]}
    assert read(tmp_path / "row", [row], "reward=total", lines=True) == [("Q", "", 3)]
    group = row | {"score": 3}
    assert read(tmp_path / "group", [group], "reward=score", lines=True) == [("Q", "x", 1), ("Q", "y", 0)]
