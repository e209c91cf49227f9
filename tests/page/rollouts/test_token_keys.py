"""The view Tokens by keys: into the tokens and out of them, along the worst, through series and forms."""

import csv
import re

import pytest
from playwright.sync_api import Page, expect

from tests.page.support import Viewer, go

pytestmark = pytest.mark.browser

TOKENS = "runs/toy?view=tokens"


@pytest.fixture
def tokens(wide: Page, viewer: Viewer) -> Page:
    wide.goto(viewer.address + TOKENS)
    wide.get_by_role("group", name="Tokens, by arrow keys").wait_for()
    return wide


def test_a_key_leads_into_the_tokens_and_escape_lets_go_of_one_then_of_all(tokens: Page) -> None:
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


def test_keys_go_along_the_worst_tokens_and_through_series_and_forms(tokens: Page) -> None:
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


def test_the_keys_of_the_tokens_are_in_the_help_and_in_the_palette(tokens: Page) -> None:
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


def test_all_tokens_are_saved_as_csv_and_copied_for_a_spreadsheet(tokens: Page) -> None:
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


def test_ids_without_a_tokenizer_say_so_and_what_to_do(tokens: Page, viewer: Viewer) -> None:
    main = tokens.get_by_role("main", name="Sample")
    expect(main.get_by_text("Ids alone")).to_have_count(0)
    go(tokens, viewer, "runs/prime?view=tokens")
    expect(main).to_contain_text("rolloupe view … --tokenizer NAME")
