"""A model that repeats itself for pages does not keep the page busy, whatever it repeats and in whatever font."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.page.degenerate import FONTS, NAMED, repeated, write_in
from tests.page.rollouts.test_sample import DRAWN, EVERYTHING, SCROLL, choose, served
from tests.page.support import Viewer, go
from tests.page.tasks import LONGEST_MS, longest, quick
from tests.server.support import row
from tests.thoroughness import amount

pytestmark = pytest.mark.browser

SEED = 2026
FEW = amount(1, 5)
MANY = 200
AT_ONCE = 10
VIEWS: dict[str, dict[str, bool]] = {"verbatim": {}, "rendered": EVERYTHING}

READY = "id => document.querySelector('article footer') !== null && document.body.textContent.includes(id)"


def rows(texts: list[str]) -> list[dict[str, Any]]:
    return [row(0, n, response=text, label=text[:3000], group_index=n // 4) for n, text in enumerate(texts)]


def read(page: Page, viewer: Viewer, number: int) -> None:
    """Open a sample, and look at its middle and its end."""
    name = f"train/0/{number // 4}/{number}"
    go(page, viewer, f"runs/run?sample={name}")
    page.wait_for_function(READY, arg=name, timeout=120_000)
    for place in (0.5, 1.0):
        page.evaluate(SCROLL, place)
        page.wait_for_function(DRAWN, timeout=120_000)
        page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def begin(page: Page, viewer: Viewer, family: str, view: str) -> None:
    """Open the first sample, in a font and a view that the samples after it keep."""
    write_in(page, family)
    choose(page, **VIEWS[view])
    page.goto(viewer.link)
    expect(page.locator("article footer")).to_be_attached()


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    with served(tmp_path_factory.mktemp("few"), *rows([*NAMED, *repeated(FEW, SEED)])) as viewer:
        yield viewer


@pytest.mark.slow
@pytest.mark.parametrize("family", ["", "Inter"])
@pytest.mark.parametrize("view", VIEWS)
def test_what_repeats_itself_is_laid_out_at_once(page: Page, few: Viewer, family: str, view: str) -> None:
    begin(page, few, family, view)
    for number in range(len(NAMED) + FEW):
        quick(page, f"text {number}, {view}, in {family}", partial(read, page, few, number))


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    with served(tmp_path_factory.mktemp("many"), *rows(repeated(MANY, SEED))) as viewer:
        yield viewer


@pytest.mark.slow
@pytest.mark.parametrize("family", FONTS)
@pytest.mark.parametrize("view", VIEWS)
def test_two_hundred_repetitions_are_laid_out_at_once(page: Page, many: Viewer, family: str, view: str) -> None:
    begin(page, many, family, view)
    for first in range(0, MANY, AT_ONCE):
        numbers = range(first, first + AT_ONCE)

        def all_of_them(numbers: range = numbers) -> None:
            for number in numbers:
                read(page, many, number)

        if longest(page, all_of_them) <= LONGEST_MS:
            continue
        for number in numbers:
            quick(page, f"text {number}, {view}, in {family}", partial(read, page, many, number))
