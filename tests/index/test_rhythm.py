"""How long a run may be quiet: its own rhythm, known from its files, from what they say, and from being watched."""

import json
import math
import os
import time
from pathlib import Path

import pytest

from rolloupe import Recorder
from rolloupe.index.sources import MAX_QUIET_S, MIN_QUIET_S, Rhythm
from rolloupe.wire import run_items
from tests.index.support import eventually, lines, opened, relax_run, row
from tests.thoroughness import each

MINUTE_S = 60.0


def age(path: Path, minutes: float) -> None:
    """Have a file written so many minutes ago."""
    when = time.time() - minutes * MINUTE_S
    os.utime(path, (when, when))


@each(("gaps_s", "quiet_s"), [((), 600.0), ((10.0, 199.0), 600.0), ((1500.0, 20.0), 4500.0), ((1e9,), MAX_QUIET_S)])
def test_it_is_three_times_the_longest_gap_within_bounds(gaps_s: tuple[float, ...], quiet_s: float) -> None:
    learned = Rhythm()
    times, now = [math.nan, math.inf, 0.0], 0.0
    for gap in gaps_s:
        now += gap
        times.append(now)
    learned.learn_writes(reversed(times))
    assert learned.quiet_s == quiet_s


@pytest.mark.parametrize(
    ("ages", "is_live", "quiet_s"),
    [((75.0, 50.0, 25.0), True, 75 * MINUTE_S), ((27.0, 26.0, 25.0), False, MIN_QUIET_S)],
    ids=["long steps", "short steps"],
)
def test_a_run_that_was_seen_to_grow_goes_on_as_long_as_its_steps_explain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ages: tuple[float, ...], is_live: bool, quiet_s: float
) -> None:
    train = relax_run(tmp_path / "run", steps=3)
    for step, minutes in enumerate(ages):
        age(train / f"{step}.jsonl", minutes)
    with opened(tmp_path / "run", tmp_path / "index") as library:
        run = library.runs[0]
        monkeypatch.setattr(type(run.sources), "has_grown", True)
        item = run_items.run_item(run)
        assert item.live is is_live
        assert item.quiet_s == (quiet_s if quiet_s == MIN_QUIET_S else pytest.approx(quiet_s, abs=5.0))


def test_what_is_written_while_it_is_watched_shows_its_rhythm(tmp_path: Path) -> None:
    train = relax_run(tmp_path / "run", steps=1)
    age(train / "0.jsonl", 30.0)
    with opened(tmp_path / "run", tmp_path / "index", follow=True) as library:
        run = library.runs[0]
        assert not run_items.run_item(run).live
        with (train / "0.jsonl").open("ab") as file:
            file.write(lines([row(0, 8)]))
        eventually(lambda: run.sources.rhythm.quiet_s > 89 * MINUTE_S)
        assert run_items.run_item(run).live


def test_a_recorded_run_says_when_its_steps_were(tmp_path: Path) -> None:
    with Recorder(tmp_path / "run", code=None) as recorder:
        recorder.sample(step=0, group="g", index=0, prompt="?", response="!", reward=1.0)
    now = time.time()
    written = [{"step": step, "time": now - (3 - step) * 1200, "values": {"loss": 1.0}} for step in range(3)]
    folder = tmp_path / "run/metrics"
    folder.mkdir(exist_ok=True)
    (folder / "rank0.jsonl").write_text("".join(json.dumps(one) + "\n" for one in written))
    with opened(tmp_path / "run", tmp_path / "index") as library:
        assert library.runs[0].sources.rhythm.quiet_s == pytest.approx(3600, abs=1.0)
