"""The cache keeps what was used last."""

from rolloupe.lru import Lru


def test_the_least_recently_used_value_goes_first() -> None:
    cache: Lru[str, int] = Lru(2)
    assert cache.put("a", 1) == cache.put("b", 2) == []
    assert cache.get("a") == 1
    assert cache.put("c", 3) == [2]
    assert (cache.get("b"), len(cache)) == (None, 2)


def test_sizes_have_a_limit_but_the_newest_value_stays() -> None:
    cache: Lru[str, str] = Lru(total=5, least=1)
    cache.put("a", "aaa", 3)
    assert cache.put("b", "bbb", 3) == ["aaa"]
    assert cache.put("b", "b", 1) == []
    assert cache.size == 1
    assert cache.put("c", "cccccc", 6) == ["b"]
    assert (cache.get("c"), cache.size) == ("cccccc", 6)
    cache.pop("c")
    cache.pop("c")
    assert (len(cache), cache.size) == (0, 0)
    cache.put("d", "d", 1)
    cache.clear()
    assert (cache.get("d"), cache.size) == (None, 0)


def test_a_value_that_is_there_is_not_replaced_by_the_default() -> None:
    cache: Lru[str, list[int]] = Lru(2)
    first = cache.setdefault("a", [1])
    cache.setdefault("b", [2])
    assert cache.setdefault("a", [3]) is first == [1]
    cache.setdefault("c", [4])
    assert cache.get("b") is None and cache.get("a") is first
