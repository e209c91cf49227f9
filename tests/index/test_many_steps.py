"""Runs of very many steps: memory and index grow by what a step holds, not by objects for each of its columns."""

import sys
import tracemalloc
from pathlib import Path

import pytest
from benchmarks.many_steps import OPENED, index_bytes, most_memory_mib, write_run

from rolloupe.index.segments.step_stats import (
    Moments,
    MomentsByName,
    StepStats,
    by_name,
    decoded,
    encoded,
    moments_of,
    of_one_sample,
)
from tests.thoroughness import each

STEPS = 1000


def stats_of(step: int, *, samples: int) -> StepStats:
    """A step with 30 columns."""
    moments = by_name({f"metric {n}": moments_of([step + n + 0.5 * m for m in range(samples)]) for n in range(30)})
    return StepStats("train", step, samples, 1, moments, MomentsByName())


@each(("samples", "most_bytes"), [(1, 900), (8, 2000)])
def test_the_statistics_of_a_step_are_small(samples: int, most_bytes: int) -> None:
    made = [stats_of(step, samples=samples) for step in range(STEPS)]
    data = encoded(made)
    assert len(data) < STEPS * most_bytes * 0.7
    tracemalloc.start()
    read = decoded(data, list[StepStats])
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken < STEPS * most_bytes
    assert read == made


def test_packed_moments_are_what_was_packed() -> None:
    values = {"a": [1.0], "b": [-3.5e300], "c": [0.0]}
    single = by_name({name: moments_of(some) for name, some in values.items()} | {"none": Moments()})
    assert single.is_single and single == {name: moments_of(some) for name, some in values.items()}
    assert single == of_one_sample([("a", 1), ("b", -3.5e300), ("c", 0.0), ("d", float("nan")), ("e", None)])
    several = by_name({"a": moments_of([1.0, 2.0]), "b": moments_of([5.0])})
    assert not several.is_single and several["a"] == moments_of([1.0, 2.0]) and several["b"] == moments_of([5.0])
    assert several.extremes.tolist() == [[1.0, 5.0], [2.0, 5.0]] and single.extremes[0].tolist() == [1.0, -3.5e300, 0]
    with pytest.raises(ValueError, match="without"):
        MomentsByName(("a",), b"1234")


@pytest.mark.slow
def test_a_run_of_a_hundred_thousand_steps_takes_little(tmp_path: Path) -> None:
    run, index = write_run(tmp_path / "run", 100_000, is_files=False), tmp_path / "index"
    assert most_memory_mib(sys.executable, "-m", "rolloupe", "index", str(run), "--index-dir", str(index)) <= 500
    assert index_bytes(index) <= 60 * 2**20
    assert most_memory_mib(sys.executable, "-c", OPENED, str(run), str(index)) <= 500
