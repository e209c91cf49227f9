"""An index that another version wrote is made anew, without being asked for."""

from pathlib import Path

from rolloupe import query
from rolloupe.index.segments.kind import SegmentMeta
from rolloupe.index.segments.segment import LAYOUT, NUMBERS
from rolloupe.index.segments.step_stats import decoded, encoded
from tests.index.support import opened, relax_run


def samples_at(run: Path, index: Path) -> list[tuple[int, int]]:
    """The steps that a library finds, and how many samples each has."""
    with opened(run, index) as library:
        return [(step.step, step.samples) for step in query.steps(library.runs[0], "train")]


def test_an_index_of_the_version_before_is_made_anew(tmp_path: Path) -> None:
    relax_run(tmp_path / "run", steps=3, samples=8)
    expected = samples_at(tmp_path / "run", tmp_path / "index")
    assert expected == [(0, 8), (1, 8), (2, 8)]
    metas = list((tmp_path / "index").rglob("*.meta"))
    assert len(metas) == 3
    for path in metas:  # in the folder of this version, as a viewer of both might leave it
        meta: SegmentMeta = decoded(path.read_bytes(), SegmentMeta)
        meta.version, meta.rows, meta.step_stats = NUMBERS.version - 1, 0, []
        path.write_bytes(encoded(meta))
    assert samples_at(tmp_path / "run", tmp_path / "index") == expected
    made = [decoded(path.read_bytes(), SegmentMeta).version for path in metas]
    assert made == [NUMBERS.version] * 3


def test_the_folder_of_the_version_before_is_left_to_it(tmp_path: Path) -> None:
    relax_run(tmp_path / "run", steps=2)
    expected = samples_at(tmp_path / "run", tmp_path / "index")
    (tmp_path / "index" / f"v{LAYOUT}").rename(tmp_path / "index" / f"v{LAYOUT - 1}")
    assert samples_at(tmp_path / "run", tmp_path / "index") == expected
    assert (tmp_path / "index" / f"v{LAYOUT}").is_dir()
