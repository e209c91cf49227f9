"""Whatever the loss mask is, a value that stands beside a token afterwards stood beside it before, in every layout."""

import json
import math
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolloupe.formats import discover
from rolloupe.model import Locator, Part, Reading, Sample, SampleKey, SampleRow, TokenSeries, Turn
from rolloupe.record.writers import WRITERS, writer_of
from tests.formats.support import samples

Pair = tuple[str, object, float]
"""The name of a series, a token by its id or its text, and the value beside it."""


class Masked(NamedTuple):
    """A sample, and how many tokens its prompt has."""

    sample: Sample
    prompt: int


def sample_of(mask: list[int], prompt: int, *, has_ids: bool, has_texts: bool, short: bool, hidden: bool) -> Masked:
    """A sample of a prompt and a response under a mask; every token and every value is another.

    `short`: series are of the response alone. `hidden`: values outside of the mask are absent, as readers have it.
    """
    size = prompt + len(mask)
    first = prompt if short or not has_ids else 0
    flags = [0] * (prompt - first) + mask if has_ids else mask
    series = [TokenSeries(name="loss_mask", values=[float(flag) for flag in flags], offset=first if has_ids else 0)]
    for number, name in enumerate(("logprobs", "ref_logprobs", "values", "token_rewards", "entropy"), 1):
        values = [-number - (at + 1) / 64 if flag or not hidden else math.nan for at, flag in enumerate(flags)]
        series.append(TokenSeries(name=name, values=values, offset=first if has_ids else 0))
    row = SampleRow(
        split="train", step=3, group="g", index="0", ordinal=0, start=0, length=1, reward=1.0,
        prompt_tokens=prompt if has_ids else None, response_tokens=sum(mask),
    )  # fmt: skip
    turns = [Turn(role="user", parts=[Part(kind="text", text="p")])]
    turns.append(Turn(role="assistant", parts=[Part(kind="text", text="r")], origin="response"))
    made = Sample(
        key=SampleKey("train", 3, "g", "0"), row=row, locator=Locator(source="s", start=0, length=1), turns=turns,
        prompt_text="p", response_text="r", token_strings=[f"t{at}" for at in range(len(mask))] if has_texts else [],
        token_ids=[100 + at for at in range(size)] if has_ids else [], series=series,
    )  # fmt: skip
    return Masked(made, prompt if has_ids else 0)


def pairs(sample: Sample, prompt: int) -> set[Pair]:
    """Every value that stands beside a token."""
    found: set[Pair] = set()
    for one in sample.series:
        for at, value in enumerate(one.values, one.offset):
            if math.isfinite(value):
                found |= {(one.name, sample.token_ids[at], value)} if at < len(sample.token_ids) else set()
                place = at - prompt
                found |= (
                    {(one.name, sample.token_strings[place], value)}
                    if 0 <= place < len(sample.token_strings)
                    else set()
                )
    return found


masked = st.builds(
    sample_of, st.lists(st.integers(0, 1), min_size=1, max_size=6), st.integers(0, 3), has_ids=st.booleans(),
    has_texts=st.booleans(), short=st.booleans(), hidden=st.booleans(),
)  # fmt: skip


@pytest.mark.parametrize("layout", WRITERS)
@given(made=masked)
def test_no_value_moves_to_another_token(layout: str, made: Masked, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("run")
    writer = writer_of(layout, folder)
    left = writer.write("train", 3, [made.sample])
    writer.close()
    if "samples without token ids" in left:
        return
    (after,) = [one for run in discover([folder], Reading(format=layout)).runs for one in samples(run)]
    before = pairs(made.sample, made.prompt)
    its = pairs(after, made.prompt if after.token_ids else 0)
    names = {one.name for one in made.sample.series}
    assert {pair for pair in its if pair[0] in names} <= before | masks(after)
    for name, token, value in before - its:
        tokens = "token ids" if isinstance(token, int) else "token strings"
        assert tokens in left or any(word.startswith(f"token series {name}") for word in left), (name, token, value)


def masks(sample: Sample) -> set[Pair]:
    """What prime-rl must have of every token: that it was not sampled."""
    return {("loss_mask", token, 0.0) for token in sample.token_ids}


def test_tokens_of_tools_keep_their_places_in_the_board(tmp_path: Path) -> None:
    """A token that a tool wrote has no value, and what follows it keeps its own."""
    made = sample_of([1, 0, 1, 1], 0, has_ids=False, has_texts=True, short=True, hidden=True).sample
    made.token_strings = ["a", "b", "c", "d"]
    made.series[1].values = [-1.0, math.nan, -3.0, -4.0]
    writer = writer_of("rl_logging_board", tmp_path)
    writer.write("train", 3, [made])
    row = json.loads((tmp_path / "rank_0.jsonl").read_text())
    assert row["response_tokens"] == ["a", "b", "c", "d"]
    assert repr(row["logprobs"]) == "[-1.0, nan, -3.0, -4.0]"
