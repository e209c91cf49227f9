"""What is wrong is told, at the line of the trainer and in words, and never reaches the training loop."""

import contextlib
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from rolloupe.record import Recorder, RecorderWarning
from tests.record.support import opened, recorder


def test_misuse_is_reported_and_training_goes_on(tmp_path: Path) -> None:
    with recorder(tmp_path / "run", strict=False) as record:
        wrong: list[dict[str, Any]] = [
            {"reward": "high"}, {"series": {"a": [[1, 2], [3, 4]]}}, {"series": {"a": ["x"]}}, {"turns": 1.5},
            {"metrics": {"odd": [1, 2]}},
        ]  # fmt: skip
        for more in wrong:
            with pytest.warns(RecorderWarning):
                assert record.sample(**dict[str, Any](step=0, group="g", response="good") | more)
        with pytest.warns(RecorderWarning):
            assert record.sample(step=cast(int, "one")) == ""
        with pytest.raises(TypeError, match="promt"):
            record.sample(step=0, promt="a wrong name")  # type: ignore[pyrefly:unexpected-keyword]
    assert sum(record.failures.values()) == 6
    assert [sample.response for sample in opened(tmp_path / "run").samples()] == ["good"] * 5
    with recorder(tmp_path / "strict") as strict, pytest.raises(ValueError, match="series 'a'"):
        strict.sample(step=0, series={"a": ["x"]})


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda record: record.discard("u", None), "discard needs a reason"),
        (lambda record: record.discard("u", ""), "withdraws one"),
        (lambda record: record.metrics({"loss": 1}, 0), "step: expected a whole number, got dict"),
        (lambda record: record.metrics(0, [1]), "metric: TypeError: expected a dict, got list"),
        (lambda record: record.checkpoint(3, step="x"), "step: expected a whole number, got str"),
        (lambda record: record.sample(step=0, tags="easy"), "tags: TypeError: expected a dict, got a string"),
        (lambda record: record.error(step=0, error="e", tags="x"), "tags: TypeError: expected a dict, got a string"),
        (lambda record: record.sample(step=0, reward=[0.5]), "reward: TypeError: expected a number, got list"),
        (
            lambda record: record.sample(step=0, turns=10**400),
            "turns: ValueError: expected a whole number within 2^53",
        ),
        (lambda record: record.sample(step=10**5000), "step: expected a whole number within 2^53; this was not"),
        (lambda record: record.metrics(-(2**60), {"a": 1}), "step: expected a whole number within 2^53"),
        (lambda record: record.sample(step=0, turns=1.5), "turns: TypeError: expected a whole number, got float"),
    ],
)
def test_what_was_wrong_is_said_in_words(call: Callable[[Recorder], object], told: str, tmp_path: Path) -> None:
    with recorder(tmp_path / "run", strict=False) as record:
        with pytest.warns(RecorderWarning, match=re.escape(told)):
            call(record)
        assert len(record.failures) == 1


@pytest.mark.parametrize("call", ["sample", "samples", "discard", "error", "metrics"])
def test_a_warning_stands_at_the_line_of_the_trainer(call: str, tmp_path: Path) -> None:
    with recorder(tmp_path / "run", strict=False) as record, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        calls: dict[str, Callable[[], object]] = {
            "sample": lambda: record.sample(step=0, reward="x"), "samples": lambda: record.samples([{"step": "x"}]),
            "discard": lambda: record.discard("u", cast(str, None)), "metrics": lambda: record.metrics(0, {"a": "x"}),
            "error": lambda: record.error(step=0, error="e", reward="x"),
        }  # fmt: skip
        calls[call]()
    assert [one.filename for one in told] == [__file__]


def test_what_prepares_a_recording_is_sheltered_too(tmp_path: Path) -> None:
    def fails(name: str) -> None:
        raise LookupError(f"no {name} here")

    with recorder(tmp_path / "run", strict=False) as record:
        for _ in range(3):
            with contextlib.suppress(RecorderWarning):  # told once, and an error here
                record.safely(fails, "tokens")
        assert record.failures == {"LookupError: no tokens here": 3}
    with recorder(tmp_path / "strict") as record, pytest.raises(LookupError, match="no tokens"):
        record.safely(fails, "tokens")
