"""The cache of replies stays within its bounds."""

from hypothesis import given
from hypothesis import strategies as st

from rolloupe.server.replies import ENTRY_BYTES, Reply, ReplyCache


def reply(size: int) -> Reply:
    return Reply(b"x" * size, "text/plain")


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 6000))), st.integers(0, 20_000), st.integers(0, 5))
def test_it_never_holds_more_than_it_may(work: list[tuple[int, int]], limit_bytes: int, limit_entries: int) -> None:
    cache = ReplyCache(limit_bytes, limit_entries)
    held: dict[tuple[str, ...], Reply] = {}
    for key, size in work:
        held[str(key),] = reply(size)
        cache.put((str(key),), held[str(key),])
        assert cache.memory_bytes <= limit_bytes
        assert cache.entries <= limit_entries
        assert cache.get((str(key),)) in (None, held[str(key),])
    cache.clear()
    assert (cache.entries, cache.memory_bytes, cache.hits, cache.misses) == (0, 0, 0, 0)


def test_the_least_recently_used_goes_first() -> None:
    cache = ReplyCache(10**6, 2)
    for name in "ab":
        cache.put((name,), reply(1))
    assert cache.get(("a",)) is not None
    cache.put(("c",), reply(1))
    assert [cache.get((name,)) is not None for name in "abc"] == [True, False, True]
    assert (cache.hits, cache.misses) == (3, 1)


def test_one_giant_does_not_push_out_the_others() -> None:
    cache = ReplyCache(4 * (len("small") + 1000 + ENTRY_BYTES), 10)
    cache.put(("small",), reply(1000))
    cache.put(("giant",), reply(1001))
    assert cache.get(("small",)) is not None
    assert cache.get(("giant",)) is None
