"""A sample with more tokens than are read: the first are left, with a note."""

from array import array

import numpy as np
import pytest

from rolloupe import tokens
from rolloupe.model import Locator, Sample, SampleKey, SampleRow, TokenSeries
from rolloupe.tokens import sample_tokens


def test_all_that_belongs_to_the_first_tokens_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample_tokens, "MAX_TOKENS", 4)
    sample = Sample(
        key=SampleKey("train", 0, "g", "0"), locator=Locator(source="s", start=0, length=0), turns=[],
        row=SampleRow(split="train", step=0, group="g", index="0", ordinal=0, start=0, length=0),
        token_ids=[1, 2, 3, 4, 5, 6], token_strings=["c", "d", "e", "f"], top_logprobs=[[("e", -1.0)], [("f", -2.0)]],
        series=[
            TokenSeries(name="a", values=array("d", range(3)), offset=3, stored=array("d", range(3))),
            TokenSeries(name="b", values=array("d", range(2)), offset=4),
        ],
    )  # fmt: skip
    whole = tokens.tokens_of(sample)
    tokens.cut_tokens(sample)
    assert (sample.notes, sample.unread_tokens) == (["the record holds 6 tokens: the first 4 are shown"], 2)
    assert (sample.token_ids, sample.token_strings, sample.top_logprobs) == ([1, 2, 3, 4], ["c", "d"], [])
    (series,) = sample.series
    assert (series.name, series.offset, [*series.values], series.stored) == ("a", 3, [0.0], array("d", [0.0]))
    of_sample, of_tokens = tokens.tokens_of(sample), tokens.first_tokens(whole)
    assert of_sample.total == of_tokens.total == 4 and [*of_tokens.strings] == sample.token_strings
    assert of_tokens.ids is not None and of_tokens.ids.tolist() == sample.token_ids
    assert np.array_equal(of_sample.series["a"], of_tokens.series["a"], equal_nan=True)
    tokens.cut_tokens(sample)
    assert len(sample.notes) == 1


def test_with_many_series_fewer_tokens_are_read() -> None:
    assert tokens.most_tokens(0) == tokens.most_tokens(8) == sample_tokens.MAX_TOKENS > 10**6
    assert tokens.most_tokens(64) * 64 == sample_tokens.MAX_VALUES
