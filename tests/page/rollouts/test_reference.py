"""A sample beside what the reference model wrote, in a real browser."""

import random
import re
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.page.rollouts.test_sample import HOSTILE
from tests.page.support import Viewer, viewing
from tests.page.tasks import quick
from tests.server.support import lines

pytestmark = pytest.mark.browser

PROMPT = "<|im_start|>user\nWhat is 12 times 11?<|im_end|>\n<|im_start|>assistant\n"
OWN = "<think>\nTen times eleven is 110, and 22 more.\n</think>\n\nThe answer is **132**, as it should be.<|im_end|>"
OTHER = "<think>\nTen times eleven is 110, and 12 more.\n</think>\n\nThe answer is **122**, as it should.<|im_end|>"
WIDTHS = {1720: 3, 1440: 2, 390: 1}
"""Columns of the sample, by how wide the window is."""

LONG, STRANGE, ODD, ALONE = 1, 2, 3, 4
"""Which sample of the step is which; the first is `OWN` beside `OTHER`."""


def sample(number: int, response: str, reference: str | None) -> dict[str, Any]:
    told = {} if reference is None else {"ref_response": reference, "ref_reward": 0.25}
    return {
        "step": 0, "prompt": PROMPT, "response": response, "reward": 1.0, "ground_truth": "132", "sample_index": number,
        "response_tokens": ["a", "b"], "logprobs": [-0.1, -0.2], **told,
    }  # fmt: skip


def written(words: int, seed: int) -> str:
    rng = random.Random(seed)
    return " ".join(rng.choice(["so", "we", "find", "that", "this", "is", "not", "it.\n"]) for _ in range(words))


@pytest.fixture(scope="module")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    folder = tmp_path_factory.mktemp("reference")
    run = folder / "run"
    run.mkdir()
    long = written(40_000, 0)
    samples = [
        sample(0, OWN, OTHER),
        sample(LONG, long, long.replace("find that this", "find that")),
        sample(STRANGE, f"It is {' '.join(HOSTILE)} five.", f"It is {' '.join(HOSTILE)} four."),
        sample(ODD, written(30_000, 1), "".join(chr(0x4E00 + n % 20_000) for n in range(90_000))),
        sample(ALONE, OWN, None),
    ]
    (run / "rank_0.jsonl").write_bytes(lines(samples))
    with viewing(run, index_dir=folder / "index", settled=True) as started:
        yield started


def opened(page: Page, viewer: Viewer, number: int) -> None:
    """Open the sample that stands so far down in the step."""
    page.goto(viewer.link)
    expect(page.locator("article footer")).to_be_attached()
    page.get_by_role("button", name="Samples", exact=True).click()
    page.get_by_role("list", name="Samples").get_by_role("link").nth(number).click()
    expect(page.locator("article footer")).to_be_attached()


def column(page: Page, name: str) -> Locator:
    return page.locator("article").get_by_role("region", name=name, exact=True)


NAMES = ("Prompt", "Response", "Reference response")


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS)
def test_prompt_response_and_reference_stand_beside_each_other_where_there_is_room(
    page: Page, viewer: Viewer, width: int
) -> None:
    opened(page, viewer, 0)
    page.set_viewport_size({"width": width, "height": 900})
    page.wait_for_timeout(100)
    boxes = [box for name in NAMES if (box := column(page, name).bounding_box()) is not None]
    assert len(boxes) == len(NAMES)
    assert len({round(box["x"] / 8) for box in boxes}) == WIDTHS[width], boxes
    prompt, response, reference = boxes
    assert (abs(response["y"] - reference["y"]) < 1) == (WIDTHS[width] > 1)
    assert (abs(prompt["y"] - response["y"]) < 1) == (WIDTHS[width] > 2)
    for one, other in pairwise(boxes):
        assert one["x"] + one["width"] <= other["x"] + 1 or one["y"] + one["height"] <= other["y"] + 1
    # all of both is there to read
    expect(column(page, "Response")).to_contain_text("The answer is **132**, as it should be.")
    expect(column(page, "Reference response")).to_contain_text("The answer is **122**, as it should.")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.slow
def test_the_words_are_marked_that_the_other_has_not(page: Page, viewer: Viewer) -> None:
    page.set_viewport_size({"width": 1720, "height": 900})
    opened(page, viewer, 0)
    own, other = column(page, "Response").locator("ins"), column(page, "Reference response").locator("del")
    expect(own).to_have_text(["22", "132", " be"])
    expect(other).to_have_text(["12", "122"])
    # never by colour alone
    line = "e => getComputedStyle(e).textDecorationLine"
    assert (own.first.evaluate(line), other.first.evaluate(line)) == ("underline", "line-through")
    told = page.get_by_role("group", name="Reference").get_by_role("status")
    expect(told).to_contain_text(re.compile(r"underlined is not in the reference, struck not in the response · \d+%"))

    # either is turned off, and stays so
    page.get_by_role("button", name="Differences").click()
    expect(own).to_have_count(0)
    expect(told).to_be_empty()
    page.get_by_role("button", name="Side by side").click()
    expect(column(page, "Prompt")).to_have_count(0)
    page.reload()
    expect(page.get_by_role("button", name="Side by side")).to_have_attribute("aria-pressed", "false")
    expect(column(page, "Reference response")).to_contain_text("as it should.")
    expect(page.locator("article").locator("ins, del")).to_have_count(0)
    page.get_by_role("button", name="Side by side").click()
    page.get_by_role("button", name="Differences").click()
    expect(own).to_have_count(3)

    # what is found is marked in it as anywhere
    page.keyboard.press("F")
    page.get_by_role("searchbox").fill("is **132**, as")
    expect(page.get_by_role("search").get_by_role("status")).to_have_text("1 of 1")
    painted = page.evaluate("[...CSS.highlights.get('find')].map(range => range.toString())")
    assert painted == ["is **132**, as"], "over the edges of marks"
    paint = "e => getComputedStyle(e, '::highlight(find)').backgroundColor"
    assert page.locator("article").evaluate(paint) not in ("", "rgba(0, 0, 0, 0)")


@pytest.mark.slow
def test_a_sample_without_a_reference_has_nothing_of_it(page: Page, viewer: Viewer) -> None:
    page.set_viewport_size({"width": 1720, "height": 900})
    opened(page, viewer, ALONE)
    expect(page.get_by_role("group", name="Reference")).to_have_count(0)
    expect(column(page, "Prompt")).to_have_count(0)


@pytest.mark.slow
def test_hostile_text_stays_text_beside_its_reference(page: Page, viewer: Viewer) -> None:
    page.set_viewport_size({"width": 1720, "height": 900})
    opened(page, viewer, STRANGE)
    expect(column(page, "Response").locator("ins")).to_have_text(["five"])
    expect(column(page, "Reference response").locator("del")).to_have_text(["four"])
    assert page.locator("article").locator("img, script, iframe").count() == 0
    expect(page).not_to_have_title("hacked")


@pytest.mark.slow
def test_however_long_the_two_are_no_task_is(page: Page, viewer: Viewer) -> None:
    page.set_viewport_size({"width": 1720, "height": 900})
    opened(page, viewer, ALONE)
    told = page.get_by_role("group", name="Reference").get_by_role("status")

    def read(number: int, words: str) -> None:
        page.get_by_role("list", name="Samples").get_by_role("link").nth(ALONE).click()
        expect(page.get_by_role("group", name="Reference")).to_have_count(0)
        page.get_by_role("list", name="Samples").get_by_role("link").nth(number).click()
        expect(told).to_contain_text(words, timeout=20_000)

    quick(page, "two that are alike", partial(read, LONG, "of the response is in both"))
    quick(page, "two that are not", partial(read, ODD, "Not compared: "))
    expect(told).to_contain_text("Both are shown as they are.")
