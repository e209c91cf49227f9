"""Rows of a database as a source: what is added leaves what is indexed alone, other rows do not."""

from pathlib import Path

from rolloupe.index.fingerprint import state_of_source, still_holds, take_of
from rolloupe.model import RowStream, Source


def source(path: Path, word: str, length: int) -> Source:
    return Source(path=str(path), name="p.db/traces", stream=RowStream(word, length))


def test_a_stream_that_grows_still_holds_and_another_one_does_not(tmp_path: Path) -> None:
    path = tmp_path / "p.db"
    path.write_bytes(b"a")
    place, state = source(path, "word", 100), state_of_source(source(path, "word", 100))
    assert state is not None and state.size == 100
    known = take_of(place.location, state)
    path.write_bytes(b"the database changes everywhere")
    for word, length, holds in (("word", 100, True), ("word", 200, True), ("word", 50, False), ("other", 200, False)):
        now = state_of_source(source(path, word, length))
        assert now is not None and still_holds(place.location, known, now) == holds
    other = state_of_source(source(path, "other", 100))
    assert other is not None and take_of(place.location, other).contents != known.contents
    path.unlink()
    assert state_of_source(place) is None
