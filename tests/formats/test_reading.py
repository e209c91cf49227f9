"""How a person wants files to be read: fields by name, the part that is the reward."""

import json
from pathlib import Path
from typing import Any

import pytest

from rolloupe.errors import BadQuery, UnreadablePath
from rolloupe.formats import checked_fields, read_fields
from rolloupe.model import Problem
from tests.formats.support import items, only_run, rows, samples

FIELDS = """
prompt = "request.text"
response = "reply.0.content"
reward = "grade.total"
step = "it"
group = "q.id"
label = "solution"
response_tokens = "usage.out"
"""


def odd(n: int, **more: Any) -> dict[str, Any]:
    """A row that no format recognises."""
    return {
        "request": {"text": f"Q{n}"}, "reply": [{"content": f"A{n}"}], "grade": {"total": n / 2, "style": 1.0},
        "it": 7, "q.id": "odd", "solution": "42", "usage": {"out": 5 + n}, "reward": "of another kind", **more,
    }  # fmt: skip


def written(path: Path, *records: dict[str, Any]) -> Path:
    """A file of these rows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_fields_that_a_person_names(tmp_path: Path) -> None:
    written(tmp_path / "run/a.jsonl", odd(0), odd(1), {"request": {"text": "Q"}, "grade": {"total": None}})
    (tmp_path / "fields.toml").write_text(FIELDS)
    run = only_run(tmp_path / "run", fields=read_fields(tmp_path / "fields.toml"))
    first, second, bare = rows(run)
    assert (first.prompt, first.response, first.reward, first.step, first.group) == ("Q0", "A0", 0.0, 7, "odd")
    assert (second.reward, second.response_tokens) == (0.5, 6)
    assert (bare.response, bare.reward, bare.step) == ("", None, 0)
    sample = samples(run)[1]
    assert (sample.label, sample.row.reward, [turn.role for turn in sample.turns]) == ("42", 0.5, ["user", "assistant"])
    assert sample.extra["grade"] == {"total": 0.5, "style": 1.0}


def test_a_file_that_comes_later_is_found(tmp_path: Path) -> None:
    written(tmp_path / "run/a.jsonl", odd(0))
    written(tmp_path / "run/summary.jsonl", {"nothing": 1})
    run = only_run(tmp_path / "run", fields=checked_fields({"prompt": "request.text", "reward": "grade.total"}))
    assert len(rows(run)) == 1
    written(tmp_path / "run/b.jsonl", odd(1), odd(2))
    assert len(rows(run)) == 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("promt = 'a'", "no role 'promt'; there are: prompt, response"),
        ("prompt = 3", "the key of 'prompt' must be a text"),
        ("prompt = ", "is not TOML"),
        ("\udcff", "is not TOML"),
    ],
)
def test_a_file_that_says_nothing_of_use(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "fields.toml").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(BadQuery, match=said):
        read_fields(tmp_path / "fields.toml")
    with pytest.raises(UnreadablePath, match="Next: name a TOML file"):
        read_fields(tmp_path / "missing.toml")


@pytest.mark.parametrize("format", ["relax", "generic"])
@pytest.mark.parametrize(("key", "found"), [("acc", [1.0, None]), ("style", [0.25, None]), ("loops", [3.0, 4.0])])
def test_the_part_that_is_the_reward(tmp_path: Path, format: str, key: str, found: list[float | None]) -> None:
    base = {"rollout_id": 0, "sample_index": 0, "group_index": 0, "prompt": "p", "response": "r"}
    whole = base | {"reward": {"score": 0.5, "acc": 1, "style": 0.25}, "loops": 3}
    written(tmp_path / "run/0.jsonl", whole, base | {"sample_index": 1, "reward": 9, "loops": 4})
    run = only_run(tmp_path / "run", format=format, reward_key=key)
    assert [row.reward for row in rows(run)] == found
    assert [sample.row.reward for sample in samples(run)] == found


def test_what_cannot_be_renamed_is_a_problem_of_its_line(tmp_path: Path) -> None:
    written(tmp_path / "run/a.jsonl", odd(0), {"q": {"id": [1]}}, odd(2, request=[], reply={"9": 1}))
    found = items(only_run(tmp_path / "run", fields=checked_fields({"response": "reply.0.content", "group": "q.id"})))
    assert [isinstance(item, Problem) for item in found] == [False, True, False]
