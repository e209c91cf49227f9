"""Columns, step statistics and fingerprints by themselves."""

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolloupe import text
from rolloupe.formats.reading.files import alone
from rolloupe.index import fingerprint
from rolloupe.index.segments.columns import metric_column
from rolloupe.index.segments.parts import table_of
from rolloupe.index.segments.samples import SampleCollector, columns_of, prompt_hash_of
from rolloupe.index.segments.step_stats import moments_of
from rolloupe.model import SampleKey, SampleRow
from tests.thoroughness import each

anything = st.text(max_size=30)


@given(anything, anything)
def test_two_names_never_share_a_column_whatever_the_case(a: str, b: str) -> None:
    if a != b and "\ufffd" not in a + b and not any(0xD800 <= ord(c) < 0xE000 for c in a + b):
        assert metric_column(a).lower() != metric_column(b).lower()


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=8), st.integers(0, 8))
def test_moments_of_the_largest_numbers_are_finite(values: list[float], cut: int) -> None:
    merged = moments_of(values[:cut]).merge(moments_of(values[cut:]))
    exact = [Fraction(value) for value in values]
    mean = sum(exact, Fraction()) / len(exact)
    variance = sum(((value - mean) ** 2 for value in exact), Fraction()) / len(exact)
    scale = Fraction(max(1e-290, *map(abs, values)))  # what is smaller vanishes
    assert merged.count == len(values)
    assert abs(Fraction(merged.mean) - mean) <= scale / 10**12
    assert abs((Fraction(merged.std) / scale) ** 2 - variance / scale**2) < 1e-9


@given(st.lists(st.floats(-1e6, 1e6) | st.just(math.nan)), st.lists(st.floats(-1e6, 1e6)))
def test_merged_moments_are_those_of_all_values(a: list[float], b: list[float]) -> None:
    merged = moments_of(a).merge(moments_of(b))
    values = np.array([v for v in [*a, *b] if math.isfinite(v)])
    assert merged.count == len(values)
    if len(values):
        assert merged.mean == pytest.approx(values.mean(), rel=1e-9, abs=1e-9)
        assert merged.std == pytest.approx(values.std(), rel=1e-6, abs=1e-6)
        assert (merged.min, merged.max) == (values.min(), values.max())


@given(anything, st.integers(), anything, anything, st.integers(0, 99))
def test_an_id_reads_back_as_what_it_was_written_from(split: str, step: int, group: str, index: str, n: int) -> None:
    key = SampleKey(split, step, group, index, n)
    if not any(0xD800 <= ord(c) < 0xE000 for c in split + group + index):
        assert SampleKey.parse(str(key)) == key


@each("word", ["", "train/1/2", "train/x/2/3", "train/1/2/3~x"])
def test_what_is_no_id_is_refused(word: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        SampleKey.parse(word)


def test_numbers_beyond_a_column_are_absent_from_it() -> None:
    row = SampleRow(split="s", step=1, group="g", index="i", ordinal=0, start=0, length=1, response_tokens=10**30)
    assert table_of(columns_of([[row]])[0], "f")["response_tokens"].to_pylist() == [None]


def test_a_prompt_of_the_next_sample_is_looked_at_once_unless_the_group_is_its_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[str] = []
    preview = text.preview

    def looking(prompt: str, limit: int) -> str:
        seen.append(prompt)
        return preview(prompt, limit)

    monkeypatch.setattr(text, "preview", looking)
    collected = SampleCollector()
    for prompt, group in [("p  q", "a"), ("p  q", "b"), (" ", "a"), (" ", "b")]:
        collected.add(SampleRow(split="", step=0, group=group, index="", ordinal=0, start=0, length=0, prompt=prompt))
    fields = collected.finish()[0].fields
    assert [*zip(fields["prompt"], fields["prompt_hash"], strict=True)] == [
        (preview(prompt), prompt_hash_of(prompt, "")) for prompt in ("p  q", "p  q")
    ] + [("", prompt_hash_of(" ", group)) for group in "ab"]
    assert seen == ["p  q", " ", " "]


def test_the_preview_of_a_prompt_begins_at_its_question() -> None:
    for question, expected in [(8, "Hi"), (0, "Rules. Hi"), (20, "Rules. Hi")]:
        row = SampleRow(split="", step=0, group="a", index="", ordinal=0, start=0, length=0, prompt="Rules.\n\nHi")
        row.question = question
        collected = SampleCollector()
        collected.add(row)
        assert [*collected.finish()[0].fields["prompt"]] == [expected]


def test_growth_is_told_from_replacement(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"a" * 10_000)
    state = fingerprint.state_of(str(path))
    assert state is not None
    with path.open("rb") as file:
        taken = fingerprint.take(file, state, 9_000)

    def holds() -> bool:
        now = fingerprint.state_of(str(path))
        assert now is not None
        return fingerprint.still_holds(alone(path), taken, now)

    assert holds()
    path.write_bytes(b"a" * 12_000)
    assert holds()
    path.write_bytes(b"b" + b"a" * 12_000)
    assert not holds()
    path.write_bytes(b"a" * 8_990 + b"b" * 4_000)
    assert not holds()
    path.write_bytes(b"a" * 100)
    assert not holds()
