import threading
import time

from rolloupe.query.engine.database import TimeLimit

SHORT_S, PATIENCE_S = 0.05, 10.0


def test_what_takes_too_long_is_interrupted() -> None:
    late = threading.Event()
    with TimeLimit(SHORT_S).watch(late.set):
        assert late.wait(PATIENCE_S)


def test_what_ends_in_time_is_not_interrupted_and_the_next_one_is_watched() -> None:
    limit, early, late = TimeLimit(SHORT_S), threading.Event(), threading.Event()
    with limit.watch(early.set):
        pass
    with limit.watch(late.set):
        assert late.wait(PATIENCE_S)
    assert not early.is_set()


def test_each_of_several_statements_has_a_deadline_of_its_own() -> None:
    limit, first, second = TimeLimit(SHORT_S), threading.Event(), threading.Event()
    with limit.watch(first.set):
        time.sleep(SHORT_S / 2)
        with limit.watch(second.set):
            assert first.wait(PATIENCE_S)
            assert second.wait(PATIENCE_S)


def test_the_thread_ends_and_starts_again() -> None:
    limit, late = TimeLimit(SHORT_S), threading.Event()
    with limit.watch(lambda: None):
        pass
    until = time.monotonic() + PATIENCE_S
    while limit.thread is not None and time.monotonic() < until:
        time.sleep(SHORT_S)
    assert limit.thread is None
    with limit.watch(late.set):
        assert late.wait(PATIENCE_S)
