"""Alternatives of tokens: what is recorded of them, and what comes back."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

import rolloupe
from rolloupe.formats.generic.row_tokens import alternatives_of
from rolloupe.record import Recorder, RecorderWarning, arguments
from tests.record.support import lines, opened

TWO: dict[str, Any] = {"step": 0, "group": "g", "token_ids": [1, 2, 3], "tokens": ["a", "b"]}


def recorded(path: Path, top_logprobs: object) -> tuple[rolloupe.Sample, dict[str, int]]:
    """A sample of three tokens, two of the response, and the failures of its recorder."""
    with Recorder(path / "run", code=None) as record:
        record.sample(**TWO, top_logprobs=top_logprobs)
        failures = record.failures
    run = opened(path / "run")
    (sample,) = run.samples()
    return run.sample(sample.key), failures


def test_pairs_mappings_strings_and_ids_come_back_with_the_likeliest_first(tmp_path: Path) -> None:
    given = [[("x", np.float32(-2.5)), (2, -0.1234567)], {"\ud800": -1, 3: -3, np.int64(77): -4, "": -5}]
    sample, failures = recorded(tmp_path, given)
    assert sample.top_logprobs == [
        [("a", -0.123457), ("x", -2.5)],
        [("\ufffd", -1.0), ("b", -3.0), ("77", -4.0), ("", -5.0)],
    ]
    assert not failures and "top_logprobs" not in sample.extra
    with Recorder(tmp_path / "again", code=None) as record:
        record.samples([sample])
    (again,) = opened(tmp_path / "again").samples()
    assert opened(tmp_path / "again").sample(again.key).top_logprobs == sample.top_logprobs


class Logprob(NamedTuple):
    """As vLLM hands one over."""

    logprob: float
    rank: int = 1
    decoded_token: str | None = None


def test_what_inference_engines_hand_over_is_taken(tmp_path: Path) -> None:
    vllm = {9: Logprob(-2.0, 2, "nine"), 3: Logprob(-0.5, 1, "own strings win"), 8: Logprob(-3.0)}
    top = [SimpleNamespace(token="y", logprob=-0.25, bytes=None), {"token": "z", "logprob": -0.125}]
    sample, failures = recorded(tmp_path, [SimpleNamespace(token="y", logprob=-0.25, top_logprobs=top), vllm])
    assert sample.top_logprobs == [[("z", -0.125), ("y", -0.25)], [("b", -0.5), ("nine", -2.0), ("8", -3.0)]]
    assert not failures


def test_json_lines_of_other_writers_have_them_too(tmp_path: Path) -> None:
    openai = {
        "token": "a",
        "logprob": -1,
        "top_logprobs": [{"token": "b", "logprob": -2}, {"token": "a", "logprob": -1}],
    }
    vllm = {"17": {"logprob": -0.5, "rank": 1, "decoded_token": "x"}, "18": {"logprob": -3, "decoded_token": None}}
    row = {"prompt": "p", "response": "ax", "reward": 1, "logprobs": [-1, -0.5], "top_logprobs": [openai, vllm]}
    (tmp_path / "run.jsonl").write_text(json.dumps(row) + "\n")
    run = opened(tmp_path / "run.jsonl")
    (item,) = run.samples()
    sample = run.sample(item.key)
    assert sample.top_logprobs == [[("a", -1.0), ("b", -2.0)], [("x", -0.5), ("18", -3.0)]]
    assert "top_logprobs" not in sample.extra
    choice = {"content": [openai, {"token": "x", "logprob": -0.5, "top_logprobs": []}], "refusal": None}
    row = {"prompt": "p", "response": "ax", "reward": 1, "logprobs": choice}
    (tmp_path / "other.jsonl").write_text(json.dumps(row) + "\n")
    run = opened(tmp_path / "other.jsonl")
    (item,) = run.samples()
    sample = run.sample(item.key)
    assert sample.top_logprobs == [[("a", -1.0), ("b", -2.0)], []] and not sample.extra
    assert sample.tokens["text"].to_pylist() == ["a", "x"] and sample.tokens["logprobs"].to_pylist() == [-1.0, -0.5]


def test_bad_values_are_left_out_and_counted_and_so_is_what_is_beyond_twenty(tmp_path: Path) -> None:
    many = {str(at): -float(at) for at in range(25)}
    bad = [("nan", float("nan")), ("inf", float("-inf")), ("b", "-1"), ("t", True), (1.5, -1), "pair", ("ok", -1)]
    with pytest.warns(RecorderWarning, match="top_logprobs"):
        sample, failures = recorded(tmp_path, [many, bad])
    assert [text for text, _ in sample.top_logprobs[0]] == [str(at) for at in range(20)]
    assert sample.top_logprobs[1] == [("ok", -1.0)]
    assert sorted(failures.values()) == [5, 6]


@pytest.mark.parametrize("wrong", [[{"a": -1}], [{"a": -1}] * 4, {"a": -1}, "text", 7])
def test_what_fits_no_tokens_is_left_out_and_told(tmp_path: Path, wrong: object) -> None:
    with pytest.warns(RecorderWarning, match="top_logprobs"):
        sample, failures = recorded(tmp_path, wrong)
    assert sample.top_logprobs == [] and sum(failures.values()) == 1
    assert sample.token_strings == ["a", "b"]


def test_none_for_each_token_is_nothing_and_too_much_for_a_line_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample, failures = recorded(tmp_path / "none", [None, []])
    assert sample.top_logprobs == [] and not failures
    assert "top_logprobs" not in lines(tmp_path / "none/run/samples/rank0.jsonl")[0]
    monkeypatch.setattr(arguments, "MOST_BYTES", 60)
    assert recorded(tmp_path / "little", [{"a": -1}, {"b": -1}])[0].top_logprobs
    with pytest.warns(RecorderWarning, match="MiB in one sample"):
        sample, _ = recorded(tmp_path / "much", [{"a": -1}, {"b" * 20: -1}])
    assert sample.top_logprobs == [] and sample.token_ids == [1, 2, 3]


def test_hostile_lines_are_read_as_far_as_they_make_sense() -> None:
    assert alternatives_of({"a": 1}) == [] == alternatives_of(None)
    text = '[[["a",NaN],["b",-Infinity],["c",true],["d",-1],["e"],5,[1,-1],["f",-1,2]],7,{"a":-1},null,[["g",-1e999]]]'
    assert alternatives_of(json.loads(text)) == [[("d", -1.0)], [], [("a", -1.0)], [], []]
    text = '[{"token":1,"top_logprobs":[{"token":2,"logprob":-1},{"token":"h"},[]]},{"top_logprobs":{"a":{}}},[[{}]]]'
    assert alternatives_of(json.loads(text)) == [[], [], []]
    (many,) = alternatives_of([[["a", -1]] * 1000])
    assert len(many) == 20
