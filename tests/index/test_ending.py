"""Whether a run has ended, by its own marker: known while it is open, and told when that changes."""

from pathlib import Path

from rolloupe import Recorder
from rolloupe.wire import run_items
from tests.index.support import SteppedClock, eventually, opened, relax_run

DATA = Path(__file__).parents[1] / "data"


def test_a_recorded_run_has_ended_once_all_its_producers_have(tmp_path: Path) -> None:
    one = Recorder(tmp_path / "run", code=None)
    two = Recorder(tmp_path / "run", code=None, producer="rank1")
    one.sample(step=0, group="g", index=0, prompt="?", response="!", reward=1.0)
    one.flush()
    told: list[str] = []
    clock = SteppedClock()
    with opened(tmp_path / "run", tmp_path / "index", follow=True, clock=clock) as library:
        (run,) = library.runs
        library.subscribe(lambda kind, changed: told.append(kind))
        clock.until(lambda: run.facts.ending == "open")
        assert run_items.run_item(run).live
        one.close()
        two.close()
        clock.until(lambda: run.facts.ending == "ended")
        assert not run_items.run_item(run).live
        assert told
    with Recorder(tmp_path / "run", code=None), opened(tmp_path / "run", tmp_path / "index") as library:
        assert library.runs[0].facts.ending == "open"


def test_the_cookbook_ends_with_its_final_checkpoint(tmp_path: Path) -> None:
    with opened(DATA / "tinker/flat_run", tmp_path / "index") as library:
        assert library.runs[0].facts.ending == "ended"


def test_formats_without_a_marker_say_nothing(tmp_path: Path) -> None:
    relax_run(tmp_path / "run")
    with opened(tmp_path / "run", tmp_path / "index") as library:
        assert library.runs[0].facts.ending == ""


def test_a_run_goes_on_once_it_was_seen_to_grow(tmp_path: Path) -> None:
    train = relax_run(tmp_path / "run")
    with opened(tmp_path / "run", tmp_path / "index", follow=True) as library:
        (run,) = library.runs
        item = run_items.run_item(run)
        assert item.changed_s is not None
        assert item.changed_s < item.quiet_s
        assert not item.live  # it may be a copy
        with (train / "3.jsonl").open("wb") as file:
            file.write((train / "2.jsonl").read_bytes())
        eventually(lambda: run_items.run_item(run).live)
        assert run_items.run_item(run).has_grown
