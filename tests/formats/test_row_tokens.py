"""The tokens of rows, under the names and in the shapes that trainers and inference servers give them."""

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rolloupe as library
from rolloupe import tokens
from rolloupe.formats.generic import row_tokens
from rolloupe.model import Sample
from tests.formats.support import items, only_run, samples, write
from tests.thoroughness import amount

BOARD = {"prompt": "p", "response": "r", "reward": 1, "step": 0, "ref_reward": 1}
OTHER = {"question": "p", "completion": "r", "score": 1, "group": "g"}
TOP = [{"token": "Hi", "logprob": -0.1}, {"token": "Ho", "logprob": -2.0}]


def sample_of(tmp_path: Path, base: dict[str, Any], **record: Any) -> Sample:
    """The sample of one record."""
    write(tmp_path / "run" / "data.jsonl", {**base, **record})
    run = only_run(tmp_path / "run")
    assert run.format == ("rl_logging_board" if base is BOARD else "generic")
    (sample,) = samples(run)
    return sample


def shown(sample: Sample) -> dict[str, str]:
    return {one.name: str(list(one.values)) for one in sample.series if not one.is_derived}


@pytest.mark.parametrize("base", [BOARD, OTHER])
def test_every_name_of_a_mask_says_which_tokens_are_trained(tmp_path: Path, base: dict[str, Any]) -> None:
    same = {**base, "response_tokens": [*"AB<o>C"], "logprobs": [-1, -1, -9, -9, -9, -1]}
    for name in tokens.LOSS_MASKS:
        write(tmp_path / "runs" / name / "data.jsonl", same | {name: [1, 1, 0, 0, 0, 1]})
    with library.open(tmp_path / "runs", index_dir=tmp_path / "index") as runs:
        assert len(runs) == len(tokens.LOSS_MASKS)
        for run in runs:
            assert [one.mean for one in run.token_stats("logprobs").steps] == [-1.0], run.path
            (sample,) = run.samples()
            page = run.tokens(sample.key)
            assert page.series["loss_mask"].tolist() == [1, 1, 0, 0, 0, 1], run.path
            assert str(page.series["logprobs"].tolist()) == "[-1.0, -1.0, nan, nan, nan, -1.0]", run.path


@pytest.mark.parametrize("base", [BOARD, OTHER])
def test_logprobs_of_the_trained_tokens_never_colour_those_of_a_tool(tmp_path: Path, base: dict[str, Any]) -> None:
    sample = sample_of(tmp_path, base, response_tokens=[*"ABtoC"], logprobs=[-1, -2, -3], action_mask=[1, 1, 0, 0, 1])
    assert shown(sample) == {"logprobs": "[-1.0, -2.0, nan, nan, -3.0]", "loss_mask": "[1.0, 1.0, 0.0, 0.0, 1.0]"}
    assert (sample.token_strings, sample.notes, sample.row.response_tokens) == ([*"ABtoC"], [], 5)


@pytest.mark.parametrize("base", [BOARD, OTHER])
def test_logprobs_that_fit_no_tokens_are_an_extra_field_with_a_note(tmp_path: Path, base: dict[str, Any]) -> None:
    sample = sample_of(tmp_path, base, response_tokens=[*"ABtoC"], logprobs=[-1, -2, -3, -4], loss_mask=[1, 1, 0, 0, 1])
    assert shown(sample) == {"loss_mask": "[1.0, 1.0, 0.0, 0.0, 1.0]"}
    assert sample.extra == {"logprobs": [-1, -2, -3, -4]}
    assert [tokens.UNEQUAL in note for note in sample.notes] == [True]


@pytest.mark.parametrize("base", [BOARD, OTHER])
def test_a_mask_over_prompt_and_response_is_placed_at_the_end(tmp_path: Path, base: dict[str, Any]) -> None:
    record = {"response_tokens": [*"ABC"], "logprobs": [-1, -2, -3]}
    sample = sample_of(tmp_path, base, **record, loss_mask=[0, 0, 1, 0, 1], attention_mask=[1, 1, 1, 1, 1])
    assert shown(sample)["logprobs"] == "[-1.0, nan, -3.0]"
    assert (shown(sample)["loss_mask"], sample.notes) == ("[1.0, 0.0, 1.0]", [])


@pytest.mark.parametrize("base", [BOARD, OTHER])
@pytest.mark.parametrize("name", ["completion_mask", "attention_mask"])
def test_padded_ids_end_where_the_mask_ends(tmp_path: Path, base: dict[str, Any], name: str) -> None:
    record = {"completion_ids": [1, 2, 3, 0, 0], name: [1, 1, 1, 0, 0], "logprobs": [-1, -2, -3, 0, 0]}
    sample = sample_of(tmp_path, base, **record, prompt_ids=[8, 9])
    assert (sample.token_ids, sample.row.response_tokens) == ([8, 9, 1, 2, 3], 3)
    assert [(one.offset, len(one.values)) for one in sample.series] == [(2, 3), (2, 3)]
    assert len(sample.notes) == 1 and "padding" in sample.notes[0]


@pytest.mark.parametrize(
    ("record", "ids", "prompt", "response"),
    [
        ({"input_ids": [0, 0, 9, 8, 1, 2, 3], "attention_mask": [0, 0, 1, 1, 1, 1, 1]}, [9, 8, 1, 2, 3], 2, 3),
        ({"token_ids": [9, 8, 1, 2, 3]}, [9, 8, 1, 2, 3], 2, 3),
        ({"input_ids": [9, 8, 1, 2, 3], "loss_mask": [0, 0, 1, 1, 1]}, [9, 8, 1, 2, 3], 2, 3),
        ({"input_ids": [9, 8, 1, 2, 3], "prompt_length": 2}, [9, 8, 1, 2, 3], 2, 3),
        ({"response_ids": [1, 2, 3], "prompt_token_ids": [9]}, [9, 1, 2, 3], 1, 3),
    ],
)
def test_ids_of_prompt_and_response_are_told_apart(
    tmp_path: Path, record: dict[str, Any], ids: list[int], prompt: int, response: int
) -> None:
    sample = sample_of(tmp_path, OTHER, **record, logprobs=[-1, -2, -3])
    assert (sample.token_ids, sample.row.prompt_tokens, sample.row.response_tokens) == (ids, prompt, response)
    assert shown(sample)["logprobs"] == "[-1.0, -2.0, -3.0]"
    assert {one.offset for one in sample.series} == {prompt}


@pytest.mark.parametrize("base", [BOARD, OTHER])
@pytest.mark.parametrize(
    ("record", "strings", "ids", "top"),
    [
        ({"logprobs": {"content": [{"token": "Hi", "logprob": -0.1, "top_logprobs": TOP},
                                   {"token": " yo", "logprob": -0.2, "top_logprobs": []}]}}, True, False, 2),
        ({"logprobs": {"tokens": ["Hi", " yo"], "token_logprobs": [-0.1, -0.2], "text_offset": [0, 2],
                       "top_logprobs": [{"Hi": -0.1, "Ho": -2.0}, None]}}, True, False, 2),
        ({"logprobs": {"tokens": ["token_id:7", "token_id:3"], "token_logprobs": [-0.1, -0.2]}}, False, True, 0),
        ({"logprobs": [{"7": {"logprob": -0.1, "rank": 1, "decoded_token": "Hi"},
                        "8": {"logprob": -2.0, "rank": 2, "decoded_token": "Ho"}},
                       {"3": {"logprob": -0.2, "rank": 1, "decoded_token": " yo"}}],
          "prompt_logprobs": [None, {"5": {"logprob": -9, "rank": 1, "decoded_token": "x"}}]}, True, True, 2),
        ({"logprobs": {"start_indices": [0, 2], "end_indices": [2, 3], "token_ids": [7, 8, 3], "ranks": [1, 2, 1],
                       "logprobs": [-0.1, -2.0, -0.2], "decoded_tokens": ["Hi", "Ho", " yo"]}}, True, True, 2),
        ({"output_token_logprobs": [[-0.1, 7, "Hi"], [-0.2, 3, " yo"]]}, True, True, 0),
        ({"output_token_logprobs": [[-0.1, 7, None], [-0.2, 3, None]],
          "output_top_logprobs": [[[-0.1, 7, None], [-2.0, 8, None]], None]}, False, True, 2),
        ({"meta_info": {"output_token_logprobs": [[-0.1, 7, "Hi"], [-0.2, 3, " yo"]],
                        "input_token_logprobs": [[None, 5, "x"]]}}, True, True, 0),
        ({"logprobs": [["Hi", -0.1], [" yo", -0.2]]}, True, False, 0),
        ({"logprobs": [[-0.1, "Hi"], [-0.2, " yo"]]}, True, False, 0),
        ({"logprobs": [[-0.1, 7], [-0.2, 3]]}, False, True, 0),
        ({"logprobs": [[7, -0.1], [3, -0.2]]}, False, True, 0),
        ({"logprobs": [{"token": "Hi", "logprob": -0.1}, {"token": " yo", "logprob": -0.2}]}, True, False, 0),
        ({"logprobs": [{"id": 7, "logprob": -0.1}, {"id": 3, "logprob": -0.2}]}, False, True, 0),
        ({"logprobs": [{"id": 7, "text": "Hi", "logprob": -0.1}, {"id": 3, "text": " yo", "logprob": -0.2}]},
         True, True, 0),
        ({"tokens": ["Hi", " yo"], "token_logprobs": [-0.1, -0.2]}, True, False, 0),
        ({"logprobs": [[-0.1], [-0.2]], "output_ids": [7, 3]}, False, True, 0),
    ],
)  # fmt: skip
def test_logprobs_in_the_shapes_of_servers(
    tmp_path: Path, base: dict[str, Any], record: dict[str, Any], strings: bool, ids: bool, top: int
) -> None:
    marked = base | {"ref_reward": 1} if base is BOARD else base
    write(tmp_path / "run" / "data.jsonl", {**marked, **record})
    (sample,) = samples(only_run(tmp_path / "run"))
    assert (shown(sample), sample.notes) == ({"logprobs": "[-0.1, -0.2]"}, [])
    assert sample.token_strings == (["Hi", " yo"] if strings else [])
    assert sample.token_ids == ([7, 3] if ids else [])
    assert [len(one) for one in sample.top_logprobs][:1] == ([top] if top else [])
    assert sample.row.response_tokens == 2
    assert sample.extra.keys() <= {"prompt_logprobs", "meta_info"}


CHOICE = {
    "index": 0, "finish_reason": "length", "message": {"role": "assistant", "content": "Hi yo"},
    "logprobs": {"content": [{"token": "Hi", "logprob": -0.1, "top_logprobs": TOP}, {"token": " yo", "logprob": -0.2}]},
}  # fmt: skip
LEGACY = {
    "text": "Hi yo",
    "logprobs": {"tokens": ["Hi", " yo"], "token_logprobs": [-0.1, -0.2]},
    "finish_reason": "length",
}


@pytest.mark.parametrize("choice", [CHOICE, LEGACY])
@pytest.mark.parametrize("key", ["", "response", "completion"])
def test_a_completion_stored_whole_is_a_response_with_tokens(tmp_path: Path, choice: dict[str, Any], key: str) -> None:
    whole = {"choices": [choice]}
    record = {"prompt": "p", "reward": 1, "step": 3, **({key: whole | {"model": "m"}} if key else whole)}
    write(tmp_path / "run" / "data.jsonl", record)
    (sample,) = samples(only_run(tmp_path / "run"))
    assert (sample.response_text, sample.row.status, sample.row.step) == ("Hi yo", "truncated", 3)
    assert (sample.token_strings, shown(sample)) == (["Hi", " yo"], {"logprobs": "[-0.1, -0.2]"})
    assert sample.extra == ({f"{key}_object": {"model": "m"}} if key else {})


OTHER_SHAPES = [
    [[-0.1, -0.2], [-0.3, -0.4]], [[1, 2], [3, 4]], [{"a": -1, "b": -2}], [{}], [[]], {}, {"content": []},
    {"content": [1, None]}, {"tokens": 3, "token_logprobs": None}, [{"logprob": "x"}], ["x", "y"], [[None]],
    {"start_indices": [5], "token_ids": [1], "logprobs": [-1]}, [[{"token": "a"}]], True, "text", 10**400,
]  # fmt: skip


def test_other_shapes_are_extra_fields_and_no_tokens(tmp_path: Path) -> None:
    for number, value in enumerate(OTHER_SHAPES):
        sample = sample_of(tmp_path / str(number), OTHER, logprobs=value)
        assert all(math.isnan(number) for one in sample.series for number in one.values), value
        assert not sample.token_ids, value


def test_an_entry_of_another_type_leaves_the_others_in_their_places(tmp_path: Path) -> None:
    listed: list[Any] = [{"token": "a", "logprob": -1}, None, 7, {"token": 3}, {"token": "e", "logprob": -5}]
    sample = sample_of(tmp_path, OTHER, logprobs=listed)
    assert shown(sample) == {"logprobs": "[-1.0, nan, nan, nan, -5.0]"}
    assert sample.token_strings == ["a", "", "", "", "e"]


def test_alternatives_of_the_trained_tokens_are_at_these(tmp_path: Path) -> None:
    top = [[["a", -1.0]], [["b", -2.0]]]
    sample = sample_of(
        tmp_path, OTHER, response_tokens=[*"xyz"], logprobs=[-1, -2], loss_mask=[1, 0, 1], top_logprobs=top
    )
    assert sample.top_logprobs == [[("a", -1.0)], [], [("b", -2.0)]]


JSON = st.recursive(
    st.none() | st.booleans() | st.sampled_from([0, 1, -1, 10**400, 2**63, -0.5, math.nan, math.inf])
    | st.sampled_from(["", "0", "true", "a", "<pad>", "token_id:9", "token_id:" + "9" * 99]),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(
        st.sampled_from(["content", "tokens", "token_logprobs", "logprob", "token", "id", "7", "choices", "message",
                         "text", "output_token_logprobs", "top_logprobs", "start_indices", "token_ids", "logprobs"]),
        inner, max_size=3,
    ),
    max_leaves=12,
)  # fmt: skip
KEYS = sorted({
    *row_tokens.SERIES, *row_tokens.LOGPROBS, *row_tokens.MASKS, *row_tokens.STRINGS, *row_tokens.IDS,
    *row_tokens.WHOLE_IDS, *row_tokens.PROMPT_IDS, "meta_info", "choices", "top_logprobs", "output_top_logprobs",
})  # fmt: skip


@pytest.mark.parametrize("base", [BOARD, OTHER])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(record=st.dictionaries(st.sampled_from(KEYS), JSON, max_size=5))
def test_no_value_under_the_names_of_tokens_costs_a_row(
    tmp_path: Path, base: dict[str, Any], record: dict[str, Any]
) -> None:
    write(tmp_path / "run" / "data.jsonl", {**base, **record})
    run = only_run(tmp_path / "run")
    assert len(items(run)) == 1
    (sample,) = samples(run)
    total = tokens.token_count(sample)
    assert all(one.offset + len(one.values) == total for one in sample.series)
    assert max(len(sample.token_ids), len(sample.token_strings)) <= total


@pytest.mark.parametrize("base", [BOARD, OTHER])
def test_very_many_tokens_and_deep_nesting(tmp_path: Path, base: dict[str, Any]) -> None:
    count = amount(10**5, 10**6)
    ids, mask = [5] * count + [0] * 9, [1] * count + [0] * 9
    record = {"completion_ids": ids, "completion_mask": mask, "logprobs": [-1] * count}
    sample = sample_of(tmp_path, base, **record)
    assert (len(sample.token_ids), sample.row.response_tokens) == (count, count)
    deep: Any = -1
    for _ in range(500):
        deep = [deep]
    assert shown(sample_of(tmp_path, base, logprobs=deep, loss_mask=deep)) == {}


def test_texts_of_numbers_are_numbers_and_other_texts_stay(tmp_path: Path) -> None:
    sample = sample_of(tmp_path, OTHER, response_tokens=["a", "b", "c"], logprobs=[-0.1, "-.2", None])
    assert shown(sample) == {"logprobs": "[-0.1, -0.2, nan]"}
    sample = sample_of(tmp_path, OTHER, response_tokens=["a", "b", "c"], logprobs=["a", "b", "c"])
    assert shown(sample) == {} and sample.extra["logprobs"] == ["a", "b", "c"]


def test_a_mask_that_counts_more_tokens_than_there_are_is_told_of(tmp_path: Path) -> None:
    sample = sample_of(tmp_path, OTHER, input_ids=[1, 2, 3], attention_mask=[1] * 7, advantages=[0.5, 0.5])
    assert shown(sample) == {"advantages": "[0.5, 0.5]"} and "attention_mask has 7" in "".join(sample.notes)


@pytest.mark.parametrize("targets", [[-100, None, 3], [-100.0, -100.0, 3.0], [[-100, -100, 3]]])
def test_a_target_that_is_no_id_is_not_trained(tmp_path: Path, targets: list[Any]) -> None:
    sample = sample_of(tmp_path, OTHER, input_ids=[1, 2, 3], logprobs=[-1, -2, -3], labels=targets)
    assert shown(sample) == {"logprobs": "[-3.0]", "loss_mask": "[1.0]"}


def test_a_choice_whose_text_is_a_number_keeps_it(tmp_path: Path) -> None:
    sample = sample_of(tmp_path, {"prompt": "p", "reward": 1}, response={"choices": [{"text": 5}]})
    assert sample.response_text == "5"
