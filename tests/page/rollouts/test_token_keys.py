"""The view Tokens by keys: into the tokens and out of them, along the worst, through series and forms."""

import csv
import re

import pytest
from playwright.sync_api import Page, expect

from tests.page.support import Viewer, go

pytestmark = pytest.mark.browser

TOKENS = "runs/toy?view=tokens"


def enter_and_let_go(tokens: Page) -> None:
    """A key leads into the tokens, and Escape lets go of one, then of all."""
    flow = tokens.get_by_role("group", name="Tokens, by arrow keys")
    card = tokens.get_by_role("tooltip")
    search = tokens.get_by_role("button", name="Copy link to this sample")
    search.focus()
    sample = re.sub("[&]token=.*", "", tokens.url)
    tokens.keyboard.press("i")
    expect(flow).to_be_focused()
    for _ in range(3):
        tokens.keyboard.press("ArrowRight")
    expect(card).to_contain_text("#2 ")
    tokens.keyboard.press("Escape")
    expect(card).to_have_count(0)
    expect(flow).to_be_focused()
    tokens.keyboard.press("ArrowRight")
    expect(card).to_contain_text("#3 ")
    assert tokens.url.startswith(sample)
    tokens.keyboard.press("Escape")
    tokens.keyboard.press("Escape")
    expect(search).to_be_focused()


def go_along(tokens: Page) -> None:
    """Keys go along the worst tokens, and through series and forms."""
    aside = tokens.get_by_role("complementary", name="Worst tokens")
    worst = aside.locator("#worst").locator("..").locator("tbody tr")
    current = worst.and_(aside.locator("[aria-current]"))
    places = [int(text) for text in worst.locator("td:last-child").all_inner_texts()]
    for key, at in (("w", 0), ("w", 1), ("W", 0), ("W", len(places) - 1)):
        tokens.keyboard.press(key)
        expect(current.locator("td:last-child")).to_have_text(str(places[at]))
        expect(tokens.get_by_role("tooltip")).to_contain_text(f"#{places[at]} ")
    expect(tokens.get_by_role("group", name="Tokens, by arrow keys")).to_be_focused()
    colour = tokens.get_by_role("combobox", name="Colour")
    options = colour.locator("option").evaluate_all("all => all.map(one => one.value)")
    at = options.index(colour.input_value())
    tokens.keyboard.press("x")
    expect(colour).to_have_value(options[at + 1])
    tokens.keyboard.press("X")
    tokens.keyboard.press("X")
    expect(colour).to_have_value(options[at - 1])
    tokens.keyboard.press("u")
    expect(tokens.get_by_role("table", name="Values of tokens, by arrow keys")).to_be_focused()
    tokens.keyboard.press("u")
    expect(tokens.get_by_role("group", name="Tokens, by arrow keys")).to_be_focused()


def look_into_help_and_palette(tokens: Page) -> None:
    """The keys of the tokens are in the help and in the palette."""
    tokens.keyboard.press("?")
    help_ = tokens.get_by_role("dialog", name="Keys")
    expect(help_).to_contain_text("In the view Tokens")
    expect(help_).to_contain_text("wnext of the worst tokens")
    tokens.evaluate("addEventListener('close', event => event.stopPropagation(), true)")  # it may come after the key
    tokens.keyboard.press("b")  # a key of the page closes the help, and does what it says
    expect(help_).to_be_hidden()
    expect(tokens.get_by_role("button", name=re.compile("bookmark", re.IGNORECASE)).first).to_have_attribute(
        "aria-pressed", "true"
    )
    tokens.keyboard.press("b")
    tokens.keyboard.press("Control+k")
    tokens.keyboard.type("next of the worst")
    tokens.get_by_role("option", name="Next of the worst tokens").wait_for()
    tokens.keyboard.press("Enter")
    expect(tokens.get_by_role("tooltip")).to_be_visible()
    tokens.keyboard.press("t")
    tokens.keyboard.press("Control+k")
    tokens.keyboard.type("next of the worst")
    expect(tokens.get_by_role("option", name="Next of the worst tokens")).to_have_count(0)


def take_all_away(tokens: Page) -> None:
    """All tokens are saved as CSV, and copied for a spreadsheet."""
    count = tokens.locator("[data-at]").count()
    menu = tokens.get_by_role("button", name="All tokens as a table")
    menu.click()
    with tokens.expect_download() as saved:
        tokens.get_by_role("button", name="Save as CSV").click()
    assert saved.value.suggested_filename.endswith(".tokens.csv")
    rows = list(csv.DictReader(saved.value.path().read_text().splitlines()))
    assert len(rows) == count and {"position", "text", "mask", "logprobs", "kl_k3"} <= set(rows[0])
    tokens.keyboard.press("Control+k")
    tokens.keyboard.type("tokens as TSV")
    tokens.keyboard.press("Enter")
    expect(tokens.get_by_text(f"{count} tokens copied")).to_be_attached()
    copied = tokens.evaluate("navigator.clipboard.readText()")
    assert copied.splitlines()[0].split("\t") == list(rows[0])


def say_what_ids_need(tokens: Page, viewer: Viewer) -> None:
    """Ids without a tokenizer say so, and what to do."""
    main = tokens.get_by_role("main", name="Sample")
    expect(main.get_by_text("Ids alone")).to_have_count(0)
    go(tokens, viewer, "runs/prime?view=tokens")
    expect(main).to_contain_text("rolloupe view … --tokenizer NAME")


def test_the_tokens_by_keys(wide: Page, viewer: Viewer) -> None:
    wide.goto(viewer.address + TOKENS)
    wide.get_by_role("group", name="Tokens, by arrow keys").wait_for()
    enter_and_let_go(wide)
    for part in (go_along, take_all_away, look_into_help_and_palette):
        go(wide, viewer, TOKENS)
        wide.get_by_role("complementary", name="Worst tokens").locator("tbody td").first.wait_for()
        part(wide)
    go(wide, viewer, TOKENS)
    say_what_ids_need(wide, viewer)
