"""Answers that cost a look at a whole run: computed one at a time, or several if they take little."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from rolloupe.query.engine.caches import AnswerCache
from tests.thoroughness import each

RUN: Any = SimpleNamespace(catalog=SimpleNamespace(folder=Path("run")))
SNAPSHOT: Any = SimpleNamespace(version="1")


@each("at_once", [1, 2])
def test_a_slow_answer_holds_up_others_only_if_they_take_memory(at_once: int) -> None:
    cache: AnswerCache[str] = AnswerCache(100, len, at_once)
    is_slow, may_end = threading.Event(), threading.Event()

    def slow() -> str:
        is_slow.set()
        assert may_end.wait(10)
        return "slow"

    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(cache.get, RUN, SNAPSHOT, "slow?", slow)
        assert is_slow.wait(10)
        second = threads.submit(cache.get, RUN, SNAPSHOT, "quick?", lambda: "quick")
        if at_once > 1:
            assert second.result(10) == "quick"
        assert second.done() is (at_once > 1)
        may_end.set()
        assert (first.result(10), second.result(10)) == ("slow", "quick")
