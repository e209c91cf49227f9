"""Every format that is read, in every layout that is written: the conversion reports every difference."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from rolloupe.formats import by_name, discover
from rolloupe.formats.reading.files import alone
from rolloupe.formats.reading.trainer_files import read_bytes
from rolloupe.model import Reading, Sample, SampleRow
from rolloupe.record.writers import WRITERS, writer_of
from tests.export.oracle import differences, named
from tests.formats.support import load, samples
from tests.thoroughness import amount, slow_unless

DATA = Path(__file__).parents[1] / "data"
DEMO = (
    "other_formats/relax", "other_formats/rl_logging_board/gen_train_toy",
    "other_formats/rl_logging_board/eval_poem_task", "tiny_grpo", "other_formats/verl_math",
)  # fmt: skip
OTHERS = (
    "prime_rl/exports/v4_pr2641", "prime_rl/exports/v6_pr3189", "prime_rl/mini/v1_pr2551", "prime_rl/mini/v2_pr2592",
    "prime_rl/mini/v4_pr2641", "prime_rl/mini/v7_head", "prime_rl/traces", "tinker/sync_run", "tinker/async_run",
    "tinker/flat_run", "tinker/quirks", "generic/verl", "generic/verl_v1", "verifiers", "skyrl",
    "areal", "telescope/run_default",
)  # fmt: skip
MOST = amount(12, 80)
"""Of a larger run so many samples, evenly spread."""

ORDERS: dict[str, Callable[[Sample], Any]] = {
    "prime_rl": lambda one: (one.row.step, one.row.metrics.get("rank", 0.0)),
    "relax": lambda one: (one.row.split == "train", one.row.step),
    "tinker": lambda one: (one.row.split.replace("/", "_"), one.row.step),
}
"""How files sort samples; within, they stand as they were written."""

Trip = tuple[list[Sample], list[Sample], Counter[str]]
"""Samples as they were, as they are read afterwards, and what was said."""


def held(place: Path, reading: Reading | None = None) -> list[Sample]:
    return [one for run in discover([place], reading or Reading()).runs for one in samples(run)]


@cache
def some_of(place: Path) -> list[Sample]:
    found = [
        (by_name(run.format), run, source, row)
        for run in discover([place]).runs
        for source in by_name(run.format).sources(run)
        for row in by_name(run.format).scan(run, source, 0, 2**62)
        if isinstance(row, SampleRow) and row.step >= 0
    ]
    return [load(*one) for one in found[:: -(-len(found) // MOST)]]


def trip(before: list[Sample], layout: str, folder: Path) -> Trip:
    """Write samples, a step of a split at a time, and read them."""
    writer, left, kept = writer_of(layout, folder), Counter[str](), []
    for split, step in dict.fromkeys((one.row.split, one.row.step) for one in before):
        some = [one for one in before if (one.row.split, one.row.step) == (split, step)]
        left.update(writer.write(split, step, some))
        kept += [one for one in some if layout != "prime_rl" or (split == "train" and one.token_ids)]
    writer.close()
    after = held(folder, Reading(format=layout)) if kept else []
    whole = sum(count for word, count in left.items() if word.startswith("samples "))
    assert len(kept) == len(after) == len(before) - whole
    order = ORDERS.get(layout, lambda _: 0)
    return sorted(kept, key=order), sorted(after, key=order), left


def check(before: list[Sample], after: list[Sample], left: Counter[str], layout: str) -> None:
    """Compare the differences with the reported ones."""
    found: dict[str, list[str]] = defaultdict(list)
    for mine, its in zip(before, after, strict=True):
        for name, how in dict(differences(mine, its, layout)).items():
            found[name].append(how)
    unsaid = {
        name: (how[0], len(how), named(name, left)) for name, how in found.items() if len(how) > named(name, left)
    }
    assert not unsaid, unsaid


def place_of(demo_runs: Path, name: str) -> Path:
    return demo_runs / name if name in DEMO else DATA / name


ALONE = (("prime_rl/exports/v6_pr3189", "prime_rl"), ("prime_rl/traces", "native"))
"""What no other conversion of these loses."""
TRIPS = [(name, layout) for name in [*DEMO, *OTHERS] for layout in WRITERS]
QUICK = [*TRIPS[::3], *ALONE]


@pytest.mark.parametrize(("name", "layout"), [slow_unless(trip in QUICK, *trip) for trip in TRIPS])
def test_whatever_differs_was_said(name: str, layout: str, demo_runs: Path, tmp_path: Path) -> None:
    before = some_of(place_of(demo_runs, name))
    if layout == "rl_logging_board":  # another split is another folder
        before = [one for one in before if one.row.split == before[0].row.split]
    check(*trip(before, layout, tmp_path / "out"), layout)


@pytest.mark.parametrize(
    ("name", "middle", "said"),
    [
        ("other_formats/relax", "native", set()), ("other_formats/relax", "relax", set()),
        ("prime_rl/exports/v4_pr2641", "prime_rl", set()),
        ("other_formats/rl_logging_board/eval_poem_task", "native", set()),
        ("tiny_grpo", "native", {f"sample metric {name}_log_ratio (added)" for name in ("avg", "sum")}),
    ],
)  # fmt: skip
def test_of_these_nothing_is_lost(name: str, middle: str, said: set[str], demo_runs: Path, tmp_path: Path) -> None:
    *_, left = trip(some_of(place_of(demo_runs, name)), middle, tmp_path / "out")
    assert set(left) == said


def test_metrics_that_a_layout_makes_of_series_are_said(tmp_path: Path) -> None:
    before, after, left = trip(some_of(DATA / "prime_rl/exports/v4_pr2641"), "native", tmp_path / "native")
    new = {name for one in after for name in one.row.metrics} - {name for one in before for name in one.row.metrics}
    assert new and {word for word in left if word.endswith(" (added)")} == {
        f"sample metric {one} (added)" for one in new
    }


def lines(folder: Path) -> list[dict[str, Any]]:
    """All rows of a folder, as the files hold them."""
    places = [alone(path) for path in sorted(folder.rglob("*.jsonl*"))]
    return [json.loads(line) for place in places for line in read_bytes(place).splitlines()]


@pytest.mark.parametrize("middle", ["native", "relax"])
def test_rows_of_relax_come_back_to_the_letter(middle: str, demo_runs: Path, tmp_path: Path) -> None:
    """Some prompts are lists of messages; nothing is added, not even a uid."""
    first = trip(held(demo_runs / "other_formats/relax"), middle, tmp_path / "middle")
    trip(first[1], "relax", tmp_path / "relax")
    theirs = lines(demo_runs / "other_formats/relax")
    assert sum(isinstance(row["prompt"], list) for row in theirs) == 26
    assert lines(tmp_path / "relax") == theirs


@pytest.mark.parametrize("middle", ["native", "prime_rl"])
@pytest.mark.parametrize("name", ["exports/v4_pr2641", "mini/v4_pr2641"])
def test_rows_of_prime_rl_come_back_to_the_letter(name: str, middle: str, tmp_path: Path) -> None:
    """Values outside the loss mask, which are never shown, included."""
    first = trip(held(DATA / "prime_rl" / name), middle, tmp_path / "middle")
    trip(first[1], "prime_rl", tmp_path / "prime_rl")
    assert lines(tmp_path / "prime_rl") == lines(DATA / "prime_rl" / name)


@pytest.mark.parametrize("middle", ["native", "rl_logging_board"])
def test_rows_of_the_board_come_back_to_the_letter(middle: str, demo_runs: Path, tmp_path: Path) -> None:
    place = demo_runs / "other_formats/rl_logging_board/eval_poem_task"
    first = trip(held(place)[:30], middle, tmp_path / "middle")
    trip(first[1], "rl_logging_board", tmp_path / "board")
    assert lines(tmp_path / "board") == lines(place)[:30]


def test_groups_that_become_one_are_said(demo_runs: Path, tmp_path: Path) -> None:
    """The board has no group: rows of one prompt are one."""
    first = some_of(demo_runs / "other_formats/relax")[0]
    rows = [replace(first.row, group=group, index=str(n)) for n, group in enumerate(["a", "a", "b", "b", "b"])]
    *_, left = trip([replace(first, row=row) for row in rows], "rl_logging_board", tmp_path / "board")
    assert left["group (joined with another)"] == 3
    *_, left = trip([replace(first, row=row) for row in rows], "relax", tmp_path / "relax")
    assert "group (joined with another)" not in left


def test_a_final_reward_that_was_not_there_is_said(demo_runs: Path, tmp_path: Path) -> None:
    before = some_of(demo_runs / "other_formats/relax")
    *_, left = trip(before, "tinker", tmp_path / "tinker")
    assert left["sample metric final_reward (added)"] == len(before)
