"""Which tokens the numbers of arrays belong to."""

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rolloupe import tokens

NAN = float("nan")


def floats(*values: float) -> tokens.Floats:
    return np.array(values, np.float64)


def placed(count: int | None, prompt: int | None = None, **arrays: list[float]) -> tokens.AlignedArrays:
    return tokens.place({name: floats(*values) for name, values in arrays.items()}, count, prompt)


def shown(found: tokens.AlignedArrays) -> dict[str, str]:
    return {name: str(values.tolist()) for name, values in found.series.items()}


@pytest.mark.parametrize("name", tokens.LOSS_MASKS)
def test_every_name_of_a_mask_means_the_loss_mask(name: str) -> None:
    found = tokens.place({"logprobs": floats(-1, -2, -3), name: floats(1, 0, 1)}, 3)
    assert (shown(found), found.notes) == ({"logprobs": "[-1.0, -2.0, -3.0]", "loss_mask": "[1.0, 0.0, 1.0]"}, [])


@pytest.mark.parametrize(
    ("mask", "expected"),
    [
        ([0, 0, 1, 0, 1], [1, 0, 1]),  # over prompt and response
        ([1, 0, 1, 0, 0], [1, 0, 1]),  # padded at the end
        ([0, 1, 0, 1, 0], [1, 0, 1]),  # both
        ([0, 0, 0, 0, 0], [0, 0, 0]),
    ],
)
def test_a_longer_mask_is_placed_where_its_flags_fit(mask: list[float], expected: list[float]) -> None:
    found = placed(3, logprobs=[-1, -2, -3], response_mask=mask)
    assert (found.series["loss_mask"].tolist(), found.notes) == (expected, [])


def test_a_longer_mask_that_could_begin_anywhere_says_so() -> None:
    found = placed(3, logprobs=[-1, -2, -3], loss_mask=[0, 0, 1, 0, 0])
    assert found.series["loss_mask"].tolist() == [1, 0, 0]
    assert found.notes == [
        "loss_mask has 5 values for 3 tokens, and could begin with any of 3: the last ones are taken"
    ]
    assert placed(3, 2, logprobs=[-1, -2, -3], loss_mask=[0, 0, 1, 0, 0]).notes == []


@pytest.mark.parametrize("mask", [[1, 1, 1, 1, 1], [1, 0, 0, 0, 1], [1], [1, 0]])
def test_a_mask_that_fits_nowhere_is_not_used(mask: list[float]) -> None:
    found = placed(3, logprobs=[-1, -2, -3], loss_mask=mask)
    assert (shown(found), found.left_out) == ({"logprobs": "[-1.0, -2.0, -3.0]"}, frozenset({"loss_mask"}))
    said = "arrays of unequal length, not used, as nothing says to which of 3 tokens it belongs"
    assert found.notes == [f"{said}: loss_mask has {len(mask)}"]


@pytest.mark.parametrize("count", [5, None])
def test_values_of_the_trained_tokens_alone_are_placed_on_these(count: int | None) -> None:
    found = placed(count, logprobs=[-1, -2, -3], loss_mask=[1, 0, 1, 0, 1])
    assert (shown(found)["logprobs"], found.notes) == ("[-1.0, nan, -2.0, nan, -3.0]", [])


def test_values_that_fit_nowhere_beside_a_mask_are_not_shown() -> None:
    found = placed(4, logprobs=[-1, -2, -3], entropy=[1, 2, 3, 4], loss_mask=[1, 0, 0, 1])
    assert (sorted(found.series), found.left_out) == (["entropy", "loss_mask"], frozenset({"logprobs"}))
    said = "arrays of unequal length, not shown, as nothing says to which of 4 tokens, 2 of them trained, they belong"
    assert found.notes == [f"{said}: logprobs has 3"]


def test_values_over_prompt_and_response_begin_with_the_prompt() -> None:
    found = placed(2, 3, logprobs=[0, 0, 0, -1, -2], entropy=[1, 2], loss_mask=[1, 1])
    assert (found.series["logprobs"].tolist(), found.notes) == ([-1, -2], [])
    by_mask = placed(2, None, logprobs=[0, 0, 0, -1, -2], loss_mask=[0, 0, 0, 1, 1])
    assert by_mask.series["logprobs"].tolist() == [-1, -2]


def test_without_a_mask_arrays_are_cut_to_the_shortest_with_a_note() -> None:
    found = placed(None, logprobs=[-1, -2, -3], entropy=[1, 2])
    assert (found.total, shown(found)) == (2, {"logprobs": "[-1.0, -2.0]", "entropy": "[1.0, 2.0]"})
    assert found.notes == ["arrays of unequal length, shown up to the shortest (2): logprobs has 3"]


def test_of_masks_that_differ_a_token_counts_that_all_count() -> None:
    found = placed(4, completion_mask=[1, 1, 1, 0], action_mask=[1, 0, 1, 0], attention_mask=[1, 1, 1, 0])
    assert found.series["loss_mask"].tolist() == [1, 0, 1, 0]
    assert found.series["attention_mask"].tolist() == [1, 1, 1, 0]
    assert found.notes == ["completion_mask and action_mask differ at 1 tokens: a token counts if all of them count it"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([True, False], [1, 0]), ([1.0, 0.0], [1, 0]), ([0.5, 0], [0.5, 0]), (["1", "0"], [1, 0]),
        (["True", " false"], [1, 0]), ([[1, 0]], [1, 0]), ([[1], [0]], [1, 0]), ([1, None], [1, NAN]),
        ([1, "x"], [1, NAN]), ([NAN, 1], [NAN, 1]), ([10**400, 0], [np.inf, 0]),
        (["a", "b"], None), ([None, None], None), ([1, [0]], None), ([1, {}], None), ([], None), ("11", None),
        (None, None), ({"a": 1}, None), ([[1, 0], [0, 1]], None), ([[[1]]], None),
    ],
)  # fmt: skip
def test_masks_are_read_whatever_their_flags_are(value: Any, expected: list[float] | None) -> None:
    found = tokens.read_mask(value)
    assert str(expected if expected is None else list(map(float, expected))) == str(
        found if found is None else found.tolist()
    )


@pytest.mark.parametrize(
    ("pieces", "mask", "span"),
    [
        ([7, 8, 0, 0], [1, 1, 0, 0], (0, 2)), ([7, 8, 0], [1, 1, 0], (0, 2)), ([0, 0, 7, 8], [0, 0, 1, 1], (2, 4)),
        ([0, 7, 8], [0, 1, 1], (0, 3)), ([7, 8, 2, 0, 0], [1, 1, 0, 0, 0], (0, 3)), ([7, 8, 9], [1, 0, 0], (0, 3)),
        ([0, 0], [0, 0], (0, 2)), ([7, 0, 0], [1, 0], (0, 3)), ([], [], (0, 0)),
        (["a", "<pad>", "<pad>"], [1, 0, 0], (0, 1)), (["a", "[PAD]"], [1, 0], (0, 1)),
        (["a", "\n", "\n"], [1, 0, 0], (0, 3)),
    ],
)  # fmt: skip
def test_padding_is_one_token_again_and_again_outside_of_the_masks(
    pieces: list[object], mask: list[float], span: tuple[int, int]
) -> None:
    assert tokens.unpadded(pieces, {"completion_mask": floats(*mask)}) == span


@given(st.data())
def test_no_value_is_on_another_token_without_a_note(data: st.DataObject) -> None:
    mask = data.draw(st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=8))
    prompt, padding = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4))
    longer = data.draw(st.sampled_from(["whole", "padded"]))  # one writer has not both
    trained = [float(n) for n, flag in enumerate(mask) if flag]

    def written(values: list[float], covers: str, before: float) -> list[float]:
        return {
            "response": values, "whole": [before] * prompt + values, "padded": values + [before] * padding,
            "trained": [value for value, flag in zip(values, mask, strict=True) if flag],
        }[covers]  # fmt: skip

    covers = data.draw(st.sampled_from(["response", longer, "trained"]))
    arrays = {"logprobs": written([float(n) for n in range(len(mask))], covers, -9.0)}
    for name in data.draw(st.lists(st.sampled_from(["loss_mask", "action_mask"]), min_size=1, unique=True)):
        arrays[name] = written(mask, data.draw(st.sampled_from(["response", longer])), 0.0)
    count, known = data.draw(st.sampled_from([len(mask), None])), data.draw(st.sampled_from([prompt, None]))
    assume(known != padding)  # else padding is as long as the prompt, and the two look alike
    found = tokens.place({name: floats(*values) for name, values in arrays.items() if values}, count, known)
    assert all(len(values) == found.total for values in found.series.values())
    if found.notes or not {"logprobs", "loss_mask"} <= found.series.keys():
        return
    inside = tokens.counts(found.series["loss_mask"])
    assert found.series["logprobs"][inside].tolist() == trained
