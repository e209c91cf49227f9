"""How long the tasks of the page's thread are."""

import json
from collections.abc import Callable

import pytest
from playwright.sync_api import Page

LONGEST_MS = 200
TRIES = 3


def quick(page: Page, what: str, act: Callable[[], None]) -> None:
    """Do something, and look at the tasks of the page's thread: none may keep a processor busy for long.

    What counts is the time that the thread ran, not the clock: a machine that does other things too lets it wait.
    """
    tries = []
    for _ in range(TRIES):
        tries.append(longest(page, act))
        if tries[-1] <= LONGEST_MS:
            return
    pytest.fail(f"{what}: the longest tasks took {tries} ms")


def longest(page: Page, act: Callable[[], None]) -> float:
    """Do something; how many milliseconds of a processor the longest task took meanwhile."""
    browser = page.context.browser
    assert browser is not None
    browser.start_tracing(page=page, categories=["toplevel", "__metadata"])
    try:
        act()
    finally:
        events = json.loads(browser.stop_tracing())["traceEvents"]
    named = [event for event in events if event.get("name") == "thread_name"]
    mains = {(e["pid"], e["tid"]) for e in named if e["args"]["name"] == "CrRendererMain"}
    tasks = [e for e in events if e.get("ph") == "X" and (e["pid"], e["tid"]) in mains and "RunTask" in e["name"]]
    assert len(tasks) > 10
    return float(max(task.get("tdur", task["dur"]) for task in tasks)) / 1000
