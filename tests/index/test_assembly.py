"""Snapshots that follow from the one before, as those that are made anew."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from rolloupe.index.fingerprint import FileState, Fingerprint
from rolloupe.index.segments.kind import SegmentMeta
from rolloupe.index.segments.step_stats import NO_MOMENTS, StepStats, by_name, moments_of
from rolloupe.index.snapshot import Assembly, Piece, Segment

PRINT = Fingerprint(FileState(1, 1, 1, 1), 1, b"", b"", b"")

stats = st.builds(
    lambda step, rewards, launch, left: StepStats(
        "train",
        step,
        len(rewards),
        1,
        by_name({"reward": moments_of(rewards)}),
        NO_MOMENTS,
        len(rewards),
        NO_MOMENTS,
        launch,
        {},
        left,
    ),
    st.integers(0, 4),
    st.lists(st.sampled_from([0.0, 0.25, 1.0]), min_size=1, max_size=3),
    st.sampled_from([0, 0, 0, 0, 1, 2]),
    st.integers(0, 1),
)
many_stats = st.lists(stats, max_size=3, unique_by=lambda one: one.step)
names = st.sampled_from(["a", "b", "c", "d", "e"])
segments = st.builds(
    lambda name, found, metrics, annotates: Segment(
        SegmentMeta(
            version=1, format="f", source=name, part=0, start=0, stop=7, complete=True, rows=1, duplicates=False,
            fingerprint=PRINT, step_stats=[] if annotates else found, metrics=metrics, tags=[], problems=[],
            problem_count=0, scalar_bytes=0, annotates=annotates,
        ),
        Path(name),
    ),
    names,
    many_stats,
    st.lists(names, max_size=2, unique=True),
    st.sampled_from([False, False, False, True]),
)  # fmt: skip
tails = st.builds(lambda found: Piece("t", None, None, found, ["t"], [], False, 3), many_stats)
change = st.tuples(st.lists(segments, max_size=3), st.sets(names, max_size=2), st.lists(tails, max_size=1))
changes = st.lists(change, min_size=2, max_size=4)


@given(changes)
def test_a_snapshot_after_changes_is_that_of_a_new_assembly(made: list) -> None:  # type: ignore[pyrefly:implicit-any-type-argument]
    kept, now = Assembly(), dict[tuple[str, int], Segment]()
    for added, dropped, growing in made:
        for name in dropped:
            now.pop((name, 0), None)
        now |= {(one.meta.source, 0): one for one in added}
        assert kept.snapshot("v", now, growing) == Assembly().snapshot("v", now, growing)
