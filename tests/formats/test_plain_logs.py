"""Logs that people write by hand: any names, several samples in a row, documents, torn lines."""

import gzip
import json
import shlex
import time
from pathlib import Path
from typing import Any

import pytest

import rolloupe
from rolloupe.formats import by_name, discover, fields_in
from rolloupe.formats.generic import rows as generic_rows
from rolloupe.formats.generic.shapes import samples_in
from rolloupe.formats.reading.line_reader import pieces_in
from rolloupe.model import Problem, Reading, SampleRow
from tests.formats.support import items, only_run, rows, samples, write

TEXTS = ["r0", "r1", "r2", "r3"]
REWARDS = [1.0, 0.0, 0.5, 0.5]


def read(folder: Path) -> list[tuple[str, str, float | None]]:
    """Prompt, response and reward of each sample, as its record is loaded."""
    return [(one.prompt_text, one.response_text, one.row.reward) for one in samples(only_run(folder))]


GROUP = [("q", text, reward) for text, reward in zip(TEXTS, REWARDS, strict=True)]
GROUPS_OF_A_LINE: dict[str, dict[str, Any]] = {
    "lists": {"prompt": "q", "completions": TEXTS, "rewards": REWARDS},
    "the same names": {"prompt": "q", "response": TEXTS, "reward": REWARDS},
    "other names": {"Question": "q", "modelOutputs": TEXTS, "Scores": REWARDS},
    "messages": {
        "prompt": [{"role": "user", "content": "q"}],
        "completions": [[{"role": "assistant", "content": text}] for text in TEXTS], "rewards": REWARDS,
    },
    "objects": {"prompt": "q", "samples": [{"text": t, "reward": r} for t, r in zip(TEXTS, REWARDS, strict=True)]},
    "objects and a list": {"problem": "q", "generations": [{"output": text} for text in TEXTS], "scores": REWARDS},
    "numbered": {"prompt": "q"} | {f"completion_{n}": t for n, t in enumerate(TEXTS)}
    | {f"reward_{n}": r for n, r in enumerate(REWARDS)},
    "numbered from one": {"prompt": "q"} | {f"response{n}": t for n, t in enumerate(TEXTS, 1)}
    | {f"score{n}": r for n, r in enumerate(REWARDS, 1)},
    "a batch": {"prompts": ["q"] * 4, "responses": TEXTS, "rewards": REWARDS, "step": [7] * 4},
    "a batch within": {"step": 7, "batch": {}, "rollouts": [{"prompt": "q", "samples": [
        {"response": t, "reward": r} for t, r in zip(TEXTS, REWARDS, strict=True)]}]},
}  # fmt: skip


@pytest.mark.parametrize("name", GROUPS_OF_A_LINE)
def test_a_line_that_is_a_group_holds_its_samples(tmp_path: Path, name: str) -> None:
    record = {"step": 7} | GROUPS_OF_A_LINE[name]
    write(tmp_path / "run" / "log.jsonl", record, json.loads(json.dumps(record).replace('"q"', '"p"')))
    run = only_run(tmp_path / "run")
    assert run.format == "generic"
    assert read(tmp_path / "run") == GROUP + [("p", *one[1:]) for one in GROUP]
    found = rows(run)
    assert {row.step for row in found} == {7}
    assert [len({row.group for row in found[first : first + 4]}) for first in (0, 4)] == [1, 1]
    assert len({row.group for row in found}) == 2


def test_the_samples_of_lines_are_indexed(tmp_path: Path) -> None:
    for name in ("lists", "a batch within"):
        write(tmp_path / name / "log.jsonl", *[{"step": 7} | GROUPS_OF_A_LINE[name]] * 2)
        with rolloupe.open(tmp_path / name, index_dir=tmp_path / "index") as runs:
            found = [(one.reward, runs[0].texts(one.id).response) for one in runs[0].samples(step=7)]
        assert found == [(reward, text) for text, reward in zip(TEXTS * 2, REWARDS * 2, strict=True)]


def test_parallel_lists_are_cut_alike_and_the_rest_is_shared(tmp_path: Path) -> None:
    write(
        tmp_path / "x.jsonl",
        {
            "prompt": [{"role": "system", "content": "s"}, {"role": "user", "content": "q"}], "responses": ["a", "b"],
            "rewards": [1, 0], "advantages": [0.5, -0.5], "finish_reason": ["stop", "length"], "lengths": [3, 9],
            "ground_truth": ["x", "y"], "env": "maths", "metrics": {"format": [1, 0]}, "logprobs": [[-1, -2], [-3]],
        },
    )  # fmt: skip
    first, second = rows(only_run(tmp_path))
    assert (first.advantage, second.advantage, first.status, second.status) == (0.5, -0.5, "completed", "truncated")
    assert (first.metrics, second.metrics) == ({"format": 1.0, "lengths": 3.0}, {"format": 0.0, "lengths": 9.0})
    assert {row.env for row in (first, second)} == {"maths"} and first.prompt == second.prompt
    loaded = samples(only_run(tmp_path))
    assert [one.label for one in loaded] == ['["x", "y"]'] * 2
    assert [[list(one.values) for one in sample.series] for sample in loaded] == [[[-1, -2]], [[-3]]]


def test_long_columns_of_numbers_keep_their_values(tmp_path: Path) -> None:
    count = 3000
    advantages = [n / 7 for n in range(count)]
    texts = [f"response number {n}" for n in range(count)]
    write(tmp_path / "x.jsonl", {"prompt": "q", "responses": texts, "rewards": [1] * count, "advantages": advantages})
    assert [row.advantage for row in rows(only_run(tmp_path))] == advantages


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"responses": TEXTS, "rewards": REWARDS[:3]}, "4 responses, but 3 rewards"),
        ({"responses": TEXTS, "reward": 1.0}, "4 responses, but one reward"),
        ({"response": "a", "rewards": REWARDS}, "4 numbers for one response"),
    ],
)
def test_responses_and_rewards_of_other_numbers_are_refused(tmp_path: Path, members: dict[str, Any], said: str) -> None:
    write(tmp_path / "run" / "x.jsonl", {"prompt": "q"} | members)
    found = discover([tmp_path / "run"])
    reasons = [note.reason for note in found.notes]
    reasons += [one.reason for run in found.runs for one in items(run) if isinstance(one, Problem)]
    assert any(said in reason for reason in reasons), reasons
    assert not [one for run in found.runs for one in items(run) if isinstance(one, SampleRow)]


def test_a_record_of_too_many_samples_costs_nothing(tmp_path: Path) -> None:
    text = "x" * 2**20
    write(tmp_path / "x.jsonl", {"prompt": text, "responses": ["a"] * 300, "rewards": [1] * 300})
    write(tmp_path / "y.jsonl", {"prompt": "q", "response": "a", "reward": 1})
    refused, fine = items(only_run(tmp_path))
    assert isinstance(refused, Problem) and "share too much" in refused.reason
    assert isinstance(fine, SampleRow)


SAMPLES = [{"step": 3, "prompt": "q", "response": f'r{n} é "x"', "reward": n % 2} for n in range(4)]
LINES = [json.dumps(one, ensure_ascii=False) for one in SAMPLES]
PRETTY = [json.dumps(one, indent=2) for one in SAMPLES]
DOCUMENTS = {
    "lines.json": "\n".join(LINES),
    "array.jsonl": f"[{', '.join(LINES)}]",
    "lines_of_an_array.jsonl": "[\n" + ",\n".join(LINES) + "\n]\n",
    "pretty_array.jsonl": json.dumps(SAMPLES, indent=1),
    "pretty.json": json.dumps(SAMPLES, indent=4),
    "one_after_another.jsonl": "\n".join(PRETTY),
    "one_after_another.json": "".join(PRETTY),
    "commas.jsonl": ",\n".join(LINES) + ",\n",
    "comma.json": f"[{', '.join(LINES)},\n]",
    "wrapped.json": json.dumps({"config": {"lr": 1}, "rollouts": SAMPLES}),
    "deeply_wrapped.json": json.dumps({"run": "x", "steps": [{"step": 3, "samples": SAMPLES}]}, indent=1),
    "by_id.json": json.dumps({f"s{n}": one for n, one in enumerate(SAMPLES)}),
    "columns.json": json.dumps({key: [one[key] for one in SAMPLES] for key in SAMPLES[0]}),
    "columns.jsonl": json.dumps({key: [one[key] for one in SAMPLES] for key in SAMPLES[0]}, indent=1),
    "twice_encoded.jsonl": "\n".join(json.dumps(line) for line in LINES),
    "printed.jsonl": "\n".join(map(repr, SAMPLES)),
    "two_on_a_line.jsonl": LINES[0] + LINES[1] + "\n" + LINES[2] + " " + LINES[3],
    "semicolons.csv": "step;prompt;response;reward\n" + "\n".join(f'3;q;"r{n} é ""x""";{n % 2},0' for n in range(4)),
    "printed_lists.csv": "step,prompt,response,reward\n" + "\n".join(
        f'3,"[{{\'role\': \'user\', \'content\': \'q\'}}]","r{n} é ""x""",{bool(n % 2)}' for n in range(4)),
}  # fmt: skip


def put_document(folder: Path, name: str, is_packed: bool) -> Path:
    folder.mkdir(parents=True)
    data = DOCUMENTS[name].encode()
    (folder / f"{name}{'.gz' * is_packed}").write_bytes(gzip.compress(data) if is_packed else data)
    return folder


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_of_any_shape_are_read(tmp_path: Path, name: str) -> None:
    for packed in (False, True):
        folder = put_document(tmp_path / f"packed {packed}", name, packed)
        assert read(folder) == [(one["prompt"], one["response"], one["reward"]) for one in SAMPLES], folder.name
        assert {row.step for row in rows(only_run(folder))} == {3}


def test_documents_of_any_shape_are_indexed(tmp_path: Path) -> None:
    names = list(DOCUMENTS)[::3]
    for name in names:
        put_document(tmp_path / "runs" / name, name, name.endswith("l"))
    with rolloupe.open(tmp_path / "runs", index_dir=tmp_path / "index") as runs:
        assert len(runs) == len(names)
        for run in runs:
            assert len({one.group for one in run.samples()}) == 1, run.path
            assert [run.sample(one.id).row.reward for one in run.samples()] == [0, 1, 0, 1], run.path


def test_a_good_object_behind_a_torn_one_is_read_and_said(tmp_path: Path) -> None:
    torn = '{"step": 3, "prompt": "q", "meta": {"a": 1}, "respo'
    (tmp_path / "x.jsonl").write_text("\n".join([LINES[0], torn + LINES[1], LINES[2], torn]))
    found = items(only_run(tmp_path))
    assert [one.reward for one in found if isinstance(one, SampleRow)] == [0, 1, 0]
    problems = [one for one in found if isinstance(one, Problem)]
    assert [one.transient for one in problems] == [False, True] and "are not" in problems[0].reason
    assert read(tmp_path) == [("q", one["response"], one["reward"]) for one in SAMPLES[:3]]


def test_facts_of_a_sample_may_lie_in_objects(tmp_path: Path) -> None:
    write(
        tmp_path / "x.jsonl",
        {
            "input": {"messages": [{"role": "user", "content": "q"}]}, "eval": {"correct": True},
            "output": {"text": "a", "finish_reason": "length"}, "meta": {"step": 4, "group_id": "g", "note": "n"},
        },
    )  # fmt: skip
    (row,) = rows(only_run(tmp_path))
    (sample,) = samples(only_run(tmp_path))
    assert (row.step, row.group, row.status, row.reward) == (4, "g", "truncated", 1.0)
    assert (sample.prompt_text, sample.response_text) == ("q", "a")
    assert sample.extra["meta"] == {"note": "n"}


def test_names_are_known_however_they_are_written(tmp_path: Path) -> None:
    write(
        tmp_path / "x.jsonl",
        {
            "Prompt": "q",
            "modelResponse": "a",
            "Final Reward": 2,
            "globalStep": 5,
            "problem-id": 9,
            "finishReason": "eos",
        },
    )
    (row,) = rows(only_run(tmp_path))
    assert (row.prompt, row.response, row.reward, row.step, row.group) == ("q", "a", 2.0, 5, "9")
    assert row.status == "completed"


def test_a_plain_log_keeps_what_the_board_does_not_read(tmp_path: Path) -> None:
    plain = {"step": 1, "prompt": "q", "response": "a", "reward": 0.5}
    facts = {"prompt_id": 3, "finish_reason": "length", "label": "L", "data_source": "aime", "response_length": 9,
             "advantage": 0.25, "metrics": {"fmt": 1}, "logprobs": [-1.0]}  # fmt: skip
    write(tmp_path / "x.jsonl", plain, plain | facts)
    run = only_run(tmp_path)
    first, second = rows(run)
    assert run.format == "generic" and second.group == "3" != first.group
    assert (second.status, second.env, second.response_tokens, second.advantage) == ("truncated", "aime", 9, 0.25)
    assert second.metrics == {"fmt": 1.0} and samples(run)[1].label == "L"


STRANGE = {
    "llm_said": {"body": "hello there"}, "asked": "what is it", "judged": {"points": 0.5}, "number": 3, "took_ms": 12.5,
}  # fmt: skip


@pytest.mark.parametrize("name", ["x.jsonl", "x.json", "x.csv"])
def test_what_is_not_read_comes_with_the_map_that_reads_it(tmp_path: Path, name: str) -> None:
    strange = {"llm_said": "hello there", "asked": "what is it", "mark": 0.5} if name.endswith("csv") else STRANGE
    if name.endswith("csv"):
        (tmp_path / name).write_text(",".join(strange) + "\n" + ",".join(map(str, strange.values())) + "\n")
    else:
        (tmp_path / name).write_text("\n".join([json.dumps(strange)] * 2))
    found = discover([tmp_path])
    assert found.runs == []
    (reason,) = [note.reason for note in found.notes]
    line = reason.partition("--map ")[2].split(",  ")[0].removesuffix(", if these are the right keys")
    (row, *_) = rows(only_run(tmp_path, fields=fields_in(line)))
    assert (row.prompt, row.response, row.reward) == ("what is it", "hello there", 0.5)


@pytest.mark.parametrize("name", ["log", "log.txt", "rollouts.log"])
def test_lines_under_another_name_are_named(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("\n".join(LINES))
    (note,) = discover([tmp_path]).notes
    assert "Next: call it" in note.reason
    assert [row.reward for row in rows(only_run(tmp_path / name))] == [0, 1, 0, 1]


@pytest.mark.parametrize("name", ["epoch_{}_step_{}.jsonl", "epoch_{}/step_{}.jsonl"])
def test_files_of_several_epochs_that_share_a_step_are_said(tmp_path: Path, name: str) -> None:
    for epoch in (1, 2):
        for step in (20, 40):
            write(tmp_path / name.format(epoch, step), {"prompt": "q", "response": "a", "reward": epoch})
    run = only_run(tmp_path)
    assert [row.step for row in rows(run)] == [20, 40, 20, 40]
    said = by_name("generic").losses(run)
    assert [one.reason.partition(":")[0] for one in said] == [
        "step 20 is in files of the epochs 1, 2", "step 40 is in files of the epochs 1, 2"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("names", "steps"),
    [
        (["math_100.jsonl"], [0]), (["math_100.jsonl", "math_200.jsonl"], [100, 200]),
        (["aime_2024.jsonl", "aime_2025.jsonl"], [0, 0]), (["m_00007.json"], [7]),
        (["llm-0125.jsonl"], [0]), (["llm-0314.jsonl", "llm-0613.jsonl"], [0, 0]),
        (["out-0100.jsonl", "out-0110.jsonl"], [100, 110]), (["out_3_train.jsonl", "out_4_train.jsonl"], [3, 4]),
        (["14_val.csv", "7_val.csv"], [14, 7]),
    ],
)  # fmt: skip
def test_a_last_number_is_a_step_only_if_it_may_not_be_a_count(
    tmp_path: Path, names: list[str], steps: list[int]
) -> None:
    for name in names:
        text = "prompt,response,reward\nq,a,1\n" if name.endswith("csv") else json.dumps(SAMPLES[0] | {"step": None})
        (tmp_path / name).write_text(text)
    assert [row.step for row in rows(only_run(tmp_path))] == steps


@pytest.mark.parametrize("answer", ['{"answer": 5,  "score": 1, "step": 9}', "[1,  2]", '["a", "b"]', '{"role": "x"}'])
def test_json_that_a_model_wrote_is_its_text(tmp_path: Path, answer: str) -> None:
    cell = answer.replace('"', '""')
    (tmp_path / "x.csv").write_text(f'step,prompt,response,label,reward\n3,q,"{cell}","{cell}",0.5\n')
    (sample,) = samples(only_run(tmp_path))
    assert (sample.row.step, sample.row.reward) == (3, 0.5)
    assert sample.response_text == sample.label == answer


def test_a_number_of_any_length_costs_no_other_row(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(f"prompt,response,reward\nq,a,{'9' * 5000}\nq,b,1\n")
    assert [row.reward for row in rows(only_run(tmp_path))][-1] == 1


def test_the_samples_of_a_record_are_found_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "x.jsonl", {"completions": TEXTS, "rewards": REWARDS, "id": [2**60 + n for n in range(4)]})
    run = only_run(tmp_path, group_by="id")
    calls: list[object] = []

    def count(record: dict[str, Any], named: Any = ()) -> list[dict[str, Any]]:
        calls.append(record)
        return samples_in(record, named)

    monkeypatch.setattr(generic_rows, "samples_in", count)
    assert [row.group for row in rows(run)] == [str(2**60 + n) for n in range(4)]
    assert len(calls) == 1


def test_samples_that_share_many_members_are_refused(tmp_path: Path) -> None:
    shared = {f"k{number}": number for number in range(1000)}
    write(tmp_path / "x.jsonl", {"completions": ["a"] * 5000, "rewards": [1] * 5000} | shared)
    (problem,) = items(only_run(tmp_path, format="generic"))
    assert isinstance(problem, Problem) and "share too much" in problem.reason


@pytest.mark.parametrize("torn", [b'{"a":"', b'{"a":', b'{"a":[1,', b'{"a":"b"'])
def test_torn_objects_take_time_linear_in_their_line(torn: bytes) -> None:
    line = torn * 60_000
    began = time.process_time()
    assert pieces_in(line).torn == (0, len(line))
    whole = LINES[0].encode()
    assert pieces_in(torn * 20 + whole).objects == [(20 * len(torn), 20 * len(torn) + len(whole))]
    assert time.process_time() - began < 2


@pytest.mark.parametrize("line", [b'{"a": {"b": 1}', b'{"a": {"b": 1}, ', b'{"a": [{"b": 1}]'])
def test_what_lies_in_an_object_that_is_being_written_is_no_object(line: bytes) -> None:
    assert pieces_in(line, is_ended=False).objects == []
    assert len(pieces_in(line).objects) == 1


def test_objects_behind_a_byte_order_mark_are_read(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_bytes(b"\xef\xbb\xbf" + LINES[0].encode() * 2 + b"\n")
    assert [type(item).__name__ for item in items(only_run(tmp_path))] == ["SampleRow"] * 2


def test_a_map_may_be_longer_than_the_name_of_a_file() -> None:
    assert fields_in(f"response={'a' * 300}") == (("response", "a" * 300),)


MESSAGES = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
ONE_SAMPLE: dict[str, dict[str, Any]] = {
    "two objects": {"state": {"history": MESSAGES, "success": True}, "task": {"prompt": "q", "reference": "7"}},
    "a fact beside a conversation": {"input": {"conversation": MESSAGES, "answer": "7"}, "reward": 1},
    "tokens alone in the answer": {
        "request": {"messages": MESSAGES, "target": "7"},
        "response": {"log_probs": [-1.0, -2.0]},
        "accuracy": 1,
    },
    "an answer of a server": {
        "prompt": "q",
        "generated_text": {"choices": [{"message": MESSAGES[1], "finish_reason": "stop"}]},
        "reward": 1,
        "label": 7,
    },
    "a solution beside the prompt": {
        "input": {"prompt": "q", "solution": "7"},
        "output": {"response": "a"},
        "score": 1,
    },
    "a verdict on a whole conversation": {"input": {"conversations": MESSAGES, "target": "7"}, "is_correct": True},
    "a text as messages": {"messages": "q", "completion": "a", "reward": 1, "label": "7"},
    "an answer of a weak name": {"question": "q", "response": {"answer": "a"}, "reward": 1, "target": "7"},
    "a label before an answer of another name": {
        "input": {"question": "q", "answer": "7"},
        "output": {"generated_answer": "a"},
        "reward": 1,
    },
}


@pytest.mark.parametrize("name", ONE_SAMPLE)
def test_objects_that_make_up_one_sample_are_one(tmp_path: Path, name: str) -> None:
    write(tmp_path / "x.jsonl", ONE_SAMPLE[name], ONE_SAMPLE[name])
    assert read(tmp_path) == [("q", "a", 1.0)] * 2
    assert [sample.label for sample in samples(only_run(tmp_path))] == ["7", "7"]


OF_A_GROUP: dict[str, dict[str, Any]] = {
    "messages before a list": {
        "messages": MESSAGES[:1],
        "generations": [{"reply": "a", "reward": 1}, {"reply": "b", "reward": 0}],
    },
    "a weak name": {
        "messages": MESSAGES[:1],
        "answers": [[MESSAGES[1]], [{"role": "assistant", "content": "b"}]],
        "rewards": [1, 0],
    },
    "capitals": {
        "Prompt": "q",
        "Answer": "7",
        "Rollouts": [{"Output": "a", "Reward": 1}, {"Output": "b", "Reward": 0}],
    },
    "facts in lists": {
        "prompt": "q",
        "responses": ["a", "b"],
        "rewards": [1, 0],
        "info": {"finish_reasons": ["stop", "length"], "n": 3},
    },
    "documents of one": {
        "step": 1,
        "episodes": [{"prompt": "q", "responses": [t], "is_correct": [t == "a"]} for t in "ab"],
    },
    "a label above": {
        "prompt": "q",
        "meta": {"answer": "7"},
        "samples": [{"reply": t, "reward": t == "a", "meta": {"n": 1}} for t in "ab"],
    },
    "answers of several models": {
        "question": "q",
        "answer": "7",
        "small": {"solution": "a", "is_correct": True},
        "large": {"solution": "b", "is_correct": False},
    },
    "lists of one name": {
        "completions": [
            {
                "query": "q",
                "answer": "7",
                "completions": [{"generated_text": t, "reward": float(t == "a")} for t in "ab"],
            }
        ]
    },
}


@pytest.mark.parametrize("name", OF_A_GROUP)
def test_a_record_of_a_group_keeps_its_prompt_and_facts(tmp_path: Path, name: str) -> None:
    write(tmp_path / "x.jsonl", OF_A_GROUP[name])
    assert read(tmp_path) == [("q", "a", 1.0), ("q", "b", 0.0)]
    loaded = samples(only_run(tmp_path))
    assert [one.label for one in loaded] == [
        "7" if name in ("capitals", "a label above", "answers of several models", "lists of one name") else ""
    ] * 2
    if name == "facts in lists":
        assert [one.row.status for one in loaded] == ["completed", "truncated"]


def test_a_table_of_numbered_columns_may_have_gaps(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(
        "question,completion_0,reward_0,length_0,completion_1,reward_1,length_1\nq,a,1,3,b,,5\n"
    )
    assert read(tmp_path) == [("q", "a", 1.0), ("q", "b", None)]


def test_columns_may_hold_a_message_each(tmp_path: Path) -> None:
    columns = {
        "prompt": {"0": MESSAGES[:1], "1": MESSAGES[:1]},
        "response": {"0": MESSAGES[1], "1": {"role": "assistant", "content": "b"}},
        "reward": {"0": 1, "1": 0},
    }
    (tmp_path / "x.json").write_text(json.dumps(columns, indent=1))
    assert read(tmp_path) == [("q", "a", 1.0), ("q", "b", 0.0)]


def test_true_or_false_is_the_reward_before_a_running_share(tmp_path: Path) -> None:
    rows_of_file = [{"prompt": f"q{n}", "solution": "s", "is_solved": n > 1, "acc": n / 4} for n in range(4)]
    write(tmp_path / "x.jsonl", {"prompt": "passed over", "test": "t", "acc": 0.0}, *rows_of_file)
    problem, *others = items(only_run(tmp_path))
    assert isinstance(problem, Problem) and "not a sample" in problem.reason and problem.start == 0
    assert [one.reward for one in others if isinstance(one, SampleRow)] == [0, 0, 1, 1]


def test_messages_that_begin_with_the_answer_leave_the_prompt(tmp_path: Path) -> None:
    row = {"prompt": "Add.", "messages": [{"role": "assistant", "content": "Right."}], "reward": 1}
    (tmp_path / "run.jsonl").write_text(json.dumps(row) + "\n")
    (sample,) = samples(only_run(tmp_path))
    assert (sample.prompt_text, sample.response_text) == ("Add.", "Right.")


def test_rows_without_a_prompt_are_groups_by_their_ids(tmp_path: Path) -> None:
    write(tmp_path / "x.jsonl", *({"session_id": n // 2, "response": "a", "score": n} for n in range(4)))
    assert [row.group for row in rows(only_run(tmp_path))] == ["0", "0", "1", "1"]


FAILED: dict[str, tuple[dict[str, Any], str]] = {
    "a word": ({"prompt": "q", "response": "a", "reward": "not run"}, ""),
    "nothing": ({"prompt": "q", "response": "a"}, ""),
    "no text": ({"reward": 0.0}, ""),
    "a word under a key of one's own": ({"said": "a", "sim": "not run"}, "response=said,reward=sim.ok"),
}


@pytest.mark.parametrize("name", FAILED)
def test_files_of_tries_without_a_score_stay_in_the_run(tmp_path: Path, name: str) -> None:
    failed, named = FAILED[name]
    good = {"said": "a", "sim": {"ok": 1.0}} if named else {"prompt": "q", "response": "a", "reward": 1.0}
    for step in range(4):
        write(tmp_path / f"step_{step}.jsonl", good if step < 2 else failed)
    write(tmp_path / "prompts.jsonl", {"prompt": "only asked"})
    found = discover([tmp_path], Reading(fields=fields_in(named) if named else ()))
    (run,) = found.runs
    last = 0.0 if name == "no text" else None
    assert [row.reward for row in rows(run)] == [1.0, 1.0, last, last]
    assert not any("step_" in note.reason for note in found.notes)


def test_files_that_are_read_as_a_person_asked_are_not_called_unread(tmp_path: Path) -> None:
    for step in ("0", "1"):
        (tmp_path / step).mkdir()
        write(tmp_path / step / "rank0.jsonl", {"prompt_ids": [1], "sequence_ids": [1, 2], "reward": 1.0})
    found = discover([tmp_path], Reading(format="generic"))
    assert [run.root for run in found.runs] == [str(tmp_path)] and found.notes == []
    assert len(rows(found.runs[0])) == 2


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (
            {"prompt": "q", "completions": ["a", 5, None], "rewards": [1, 0, 0.5]},
            [("q", "a", 1.0), ("q", "5", 0.0), ("q", "", 0.5)],
        ),
        (
            {"prompt": {"0": "p", "1": "q"}, "response": {"1": "b", "0": "a"}, "reward": {"0": 0, "1": 1}},
            [("p", "a", 0.0), ("q", "b", 1.0)],
        ),
        (
            {"prompt": "q", "completion_0": "a", "completion_2": "c", "reward_0": 0, "reward_1": 0.1, "reward_2": 0.2},
            [("q", "a", 0.0), ("q", "", 0.1), ("q", "c", 0.2)],
        ),
        (
            {"prompt": "q", "response_0": "a", "response_1": None, "reward_0": 1, "reward_1": 0},
            [("q", "a", 1.0), ("q", "", 0.0)],
        ),
    ],
)
def test_members_of_a_group_that_are_no_texts_keep_their_places(
    tmp_path: Path, record: dict[str, Any], expected: list[tuple[str, str, float]]
) -> None:
    write(tmp_path / "x.jsonl", record)
    assert read(tmp_path) == expected


@pytest.mark.parametrize("bad", [None, {"error": "timeout"}])
@pytest.mark.parametrize("place", [0, 1, 3])
def test_one_bad_member_costs_no_other(tmp_path: Path, bad: Any, place: int) -> None:
    good: list[Any] = [{"question": f"q{n}", "response": f"r{n}", "reward": 1} for n in range(3)]
    listed = [*good[:place], bad, *good[place:]]
    write(tmp_path / "list.jsonl", {"samples": listed})
    (tmp_path / "ids").mkdir()
    (tmp_path / "ids" / "x.json").write_text(
        json.dumps({"version": 2} | {f"id{n}": one for n, one in enumerate(listed)})
    )
    for folder in (tmp_path, tmp_path / "ids"):
        found = [one for run in discover([folder]).runs if run.root == str(folder) for one in items(run)]
        assert [one.response for one in found if isinstance(one, SampleRow) and one.response] == ["r0", "r1", "r2"]
        assert len(found) == 4


def test_numbers_that_are_not_one_a_response_are_refused_by_name(tmp_path: Path) -> None:
    uneven = {"prompt": "q", "completions": ["a", "b"], "rewards": [1, 0], "advantages": [1, 2, 3]}
    write(tmp_path / "x.jsonl", uneven, {"prompt": "q", "completion": "a", "reward": 1})
    (problem,) = [one for one in items(only_run(tmp_path)) if isinstance(one, Problem)]
    assert "2 responses, but 3 numbers (`advantages`)" in problem.reason


def test_what_is_advised_can_be_pasted(tmp_path: Path) -> None:
    strange = {"prompt": "q", "response": "a", "$(touch here) reward": [1, 0, 1]}
    write(tmp_path / "x.jsonl", strange, {"prompt": "q", "response": "a", "reward": 1})
    (problem,) = [one for one in items(only_run(tmp_path)) if isinstance(one, Problem)]
    assert shlex.split(problem.reason.partition("Next: ")[2])[-1] == "reward=$(touch here) reward.0"


OWN: dict[str, Any] = {"step": 1, "prompt": "q", "response": "a b", "reward": 1.0}
FACTS_OF_ONE: dict[str, Any] = {
    "documents": [{"text": "Hamlet is a tragedy", "score": 12.5}, {"text": "Macbeth", "score": 7.5}],
    "retrieved": [{"content": "Hamlet is a tragedy", "score": 12.5}, {"content": "Macbeth", "score": 7.5}],
    "judge_outputs": [{"response": "I give 9", "score": 9}, {"response": "I give 4", "score": 4}],
    "best_of": [{"text": "a", "score": 0.5}, {"text": "b", "score": 0.25}],
    "top_tokens": [{"text": " a", "score": 0.5}, {"text": "The", "score": 0.25}],
    "candidates": ["a", "b"],
}
"""Lists of texts, most with scores, in a row that has a response and a reward."""


@pytest.mark.parametrize("name", FACTS_OF_ONE)
def test_a_row_with_a_response_and_a_reward_is_the_sample(tmp_path: Path, name: str) -> None:
    row = OWN | {name: FACTS_OF_ONE[name]}
    write(tmp_path / "lines" / "x.jsonl", row, row)
    assert read(tmp_path / "lines") == [("q", "a b", 1.0)] * 2
    assert {json.dumps(one.extra[name]) for one in samples(only_run(tmp_path / "lines"))} == {json.dumps(row[name])}
    (tmp_path / "document").mkdir()
    (tmp_path / "document" / "x.json").write_text(json.dumps({"model": "m", "traces": [row, row]}))
    assert read(tmp_path / "document") == [("q", "a b", 1.0)] * 2
    chat = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a b"}]
    write(tmp_path / "chats" / "x.jsonl", {"messages": chat, "reward": 1.0, name: row[name]})
    assert read(tmp_path / "chats") == [("q", "a b", 1.0)]


def test_scores_of_tokens_are_no_rewards(tmp_path: Path) -> None:
    row = {"prompt": "q", "completion": "a b", "n": 3, "top_tokens": FACTS_OF_ONE["top_tokens"]}
    write(tmp_path / "x.jsonl", row, row)
    (tmp_path / "x.json").write_text(json.dumps({"traces": [row, row]}))
    for name in ("x.jsonl", "x.json"):
        found = discover([tmp_path / name])
        assert not found.runs
        assert "hold no score under a usual name (keys: prompt, completion, n, top_tokens)" in found.notes[0].reason


def test_a_row_whose_response_is_not_found_says_so(tmp_path: Path) -> None:
    turns = [{"step": 0, "generated_text": "look", "step_reward": -0.5}, {"step": 1, "generated_text": "buy"}]
    write(tmp_path / "x.jsonl", {"task": "t1", "prompt": "q", "total_reward": 1.5, "turns": turns})
    assert read(tmp_path) == [("q", "", 1.5)]
    (loss,) = by_name("generic").losses(only_run(tmp_path))
    said = "no text of a response was found in the first rows; `turns` may hold it. Next: --map "
    assert loss == Problem(source="x.jsonl", reason=f"{said}response=turns")
    mapped = only_run(tmp_path, fields=fields_in("response=turns"))
    assert [(one.response_text, one.row.reward, one.row.turns) for one in samples(mapped)] == [("look\n\nbuy", 1.5, 2)]
    assert not by_name("generic").losses(mapped)
    (loss,) = by_name("generic").losses(only_run(tmp_path, fields=fields_in("reward=total_reward")))
    assert loss.reason == f"{said}reward=total_reward,response=turns"
