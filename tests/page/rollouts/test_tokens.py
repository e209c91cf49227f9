"""The view of tokens, and the tokens of a run: of RLLoggingBoard, of prime-rl, and one that has what goes wrong."""

import json
import math
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote
from urllib.request import Request, urlopen

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from rolloupe.demo import RUNS
from rolloupe.record import Recorder
from tests.page.support import Viewer, go, let_in, viewing

pytestmark = pytest.mark.browser

PRIME = Path(__file__).parents[2] / "data/prime_rl/exports/v6_pr3189"
TOY_TOKENS = "runs/toy?view=tokens&colour=kl_k3"
PRIME_TOKENS = "runs/prime?view=tokens"
LONG_TOKENS = "runs/odd?sample=train/0/long/0&view=tokens"
STRANGE = ["<script>alert(1)</script>", "\u202eevil", "x" * 5000, "\u0000", "", "العربية", "\n\n", " so"]


def odd(folder: Path) -> None:
    """A run with a long sample, one of strange strings and numbers, and one without tokens."""
    random = np.random.default_rng(1)
    long = [f" {n}" if n % 40 else "\n" for n in range(8000)]
    strange = STRANGE * 20
    numbers = np.tile([math.nan, math.inf, -math.inf, 1e308, -1e308, 0.0, -0.0, 1.0], 20)
    with Recorder(folder) as recorder:
        for group, tokens, series in (
            ("long", long, {"entropy": random.exponential(size=8000)}),
            ("strange", strange, {"odd\u202e <b>": numbers, "nothing": np.full(160, math.nan)}),
        ):
            recorder.sample(step=0, group=group, prompt="p", response="".join(tokens), tokens=tokens, series=series)
        recorder.sample(step=0, group="none", prompt="p", response="no tokens")


def alike(folder: Path) -> None:
    """A run with a group of three samples that differ in their last token, two without an update, and a padded one."""
    random = np.random.default_rng(1)
    with Recorder(folder) as recorder:
        for advantage in (1.0, -1.0, 0.0):
            logprobs = -random.exponential(size=60)
            recorder.sample(
                step=1, group="a/b <i>", prompt="p", advantage=advantage, tokens=[*[" same"] * 59, f" {advantage}"],
                series={"logprobs": logprobs, "trainer_logprobs": logprobs + random.normal(size=60) / 3},
            )  # fmt: skip
        recorder.sample(step=1, group="bare", prompt="p", tokens=[" one"], series={"entropy": [1.0]})
        recorder.sample(step=1, group="gone", prompt="p", response="no", discarded="stale")
        padded = [*["_"] * 3, " one", " two", *["_"] * 5]
        recorder.sample(step=1, group="padded", prompt="p", tokens=padded, series={"entropy": np.arange(10.0)})


@pytest.fixture(scope="module")
def token_viewer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    folder = tmp_path_factory.mktemp("tokens")
    shutil.copytree(RUNS / "other_formats/rl_logging_board/gen_train_toy", folder / "runs/toy")
    shutil.copytree(PRIME, folder / "runs/prime")
    odd(folder / "runs/odd")
    alike(folder / "runs/alike")
    state_dir = str(folder / "state")
    with viewing(folder / "runs", index_dir=folder / "index", state_dir=state_dir, settled=True) as viewer:
        yield viewer


@pytest.fixture
def tokens(page: Page, token_viewer: Viewer) -> Page:
    """A page that the viewer lets in."""
    page.set_viewport_size({"width": 1440, "height": 900})
    page.emulate_media(reduced_motion="reduce")
    let_in(page, token_viewer)
    return page


def asked(viewer: Viewer, what: str) -> Any:
    """What the server answers a program about the run."""
    bearer = {"Authorization": f"Bearer {viewer.token}"}
    with urlopen(Request(f"{viewer.address}api/runs/toy/{what}", headers=bearer), timeout=30) as reply:
        return json.load(reply)


def menu(page: Page, name: str) -> Locator:
    """Open a menu of the line above the tokens, unless it is open."""
    button = page.get_by_role("button", name=re.compile(f"^{name}"))
    if button.get_attribute("aria-expanded") == "false":
        button.click()
    return page.get_by_role("dialog", name=name)


def tints(page: Page) -> list[str]:
    """The backgrounds of the drawn tokens."""
    found: list[str] = page.locator("[data-at]").evaluate_all("all => all.map(e => e.style.backgroundColor)")
    return found


def test_tokens_are_text_with_a_tint_and_a_legend(tokens: Page, token_viewer: Viewer) -> None:
    tokens.goto(token_viewer.address + "runs/toy")
    expect(tokens.locator("article footer")).to_be_visible()
    tokens.keyboard.press("t")
    expect(tokens).to_have_url(re.compile("view=tokens"))
    flow = tokens.get_by_role("group", name="Tokens, by arrow keys")
    expect(flow).to_contain_text("<think>↵")
    assert "Ġ" not in flow.inner_text() and "Ċ" not in flow.inner_text()
    expect(tokens.get_by_role("img", name=re.compile("^Tints from"))).to_be_visible()
    colour = tokens.get_by_role("combobox", name="Colour")
    expect(colour.locator("option:checked")).to_have_text("Log ratio to the reference")
    assert {"Recorded", "Computed"} <= set(colour.locator("optgroup").evaluate_all("all => all.map(e => e.label)"))
    before = tints(tokens)
    colour.select_option(label="Value")
    expect(tokens.locator("[data-at]").nth(3)).not_to_have_attribute("style", before[3])
    assert tints(tokens) != before
    tokens.reload()
    expect(colour.locator("option:checked")).to_have_text("Value")


def test_the_scale_is_chosen_and_its_ends_may_be_fixed(tokens: Page, token_viewer: Viewer) -> None:
    tokens.goto(token_viewer.address + LONG_TOKENS)
    legend = tokens.get_by_role("img", name=re.compile("^Tints from"))
    before = legend.inner_text()
    assert re.fullmatch(r"≤ [\d.]+\s*≥ [\d.]+", before)  # the scale clips on either side
    menu(tokens, "Scale:")
    tokens.get_by_role("combobox", name="Range").select_option(label="All values")
    expect(legend).not_to_have_text(before)
    tokens.get_by_role("combobox", name="Range").select_option(label="Fixed")
    tokens.get_by_role("spinbutton", name="Low end").fill("1")
    tokens.get_by_role("spinbutton", name="High end").fill("2.5")
    expect(legend).to_have_text("≤ 1≥ 2.50")
    tokens.get_by_role("combobox", name="Scale").select_option(label="Around zero")
    expect(legend).to_have_text("−2.50≥ 2.50")
    tokens.reload()
    expect(legend).to_have_text("−2.50≥ 2.50")


def test_a_card_says_all_of_a_token_under_the_pointer_and_by_keys(tokens: Page, token_viewer: Viewer) -> None:
    tokens.goto(token_viewer.address + TOY_TOKENS)
    card = tokens.get_by_role("tooltip")
    tokens.locator("[data-at='1']").hover()
    expect(card).to_contain_text('"\\n"')
    expect(card).to_contain_text('"Ċ" in the record')
    expect(card).to_contain_text("#1 · assistant")
    few = card.locator("dl > div").count()
    assert few == 3  # one of them has two logprobs
    tokens.locator("[data-at='1']").click()
    card.get_by_role("button", name="More").click()
    more = card.get_by_label("More values").locator("div")
    expect(more.filter(has_text="Value error")).to_have_count(1)
    expect(more).to_have_count(7)
    card.get_by_role("button", name="Less").click()
    expect(more).to_have_count(0)
    tokens.keyboard.press("Escape")
    expect(card).to_have_count(0)
    sample = tokens.url
    tokens.get_by_role("group", name="Tokens, by arrow keys").focus()
    last = tokens.locator("[data-at]").count() - 1
    for key, at in (("ArrowRight", 0), ("ArrowRight", 1), ("End", last), ("ArrowLeft", last - 1), ("Home", 0)):
        tokens.keyboard.press(key)
        expect(card).to_contain_text(f"#{at} ")
    tokens.keyboard.press("ArrowDown")
    expect(card).not_to_contain_text("#0 ")
    assert tokens.url == sample
    tokens.keyboard.press("Escape")
    expect(card).to_have_count(0)
    tokens.keyboard.press("Escape")
    tokens.keyboard.press("ArrowRight")
    expect(tokens).not_to_have_url(sample)

    tokens.set_viewport_size({"width": 390, "height": 844})
    tokens.goto(token_viewer.address + LONG_TOKENS)
    expect(tokens.get_by_role("group", name="Tokens, by arrow keys")).to_be_visible()
    expect(tokens.get_by_role("img", name=re.compile("^Tints from"))).to_be_in_viewport()
    for block, at in (("end", 300), ("start", 301)):
        token = tokens.locator(f"[data-at='{at}']")
        token.evaluate("(e, block) => e.scrollIntoView({ block })", block)
        token.dispatch_event("click")
        expect(card).to_contain_text(f"#{at} ")
        expect(token).to_be_in_viewport(ratio=1)
        apart = "([card, token]) => token.getBoundingClientRect().bottom <= card.getBoundingClientRect().top"
        tokens.wait_for_function(apart, arg=[card.element_handle(), token.element_handle()])  # it moves out of the way
        card.get_by_role("button", name="Close the card").click()
        expect(card).to_have_count(0)


def look_at_ids(tokens: Page, token_viewer: Viewer) -> None:
    """Ids without text are chips, and what is not trained on is folded."""
    tokens.goto(token_viewer.address + PRIME_TOKENS)
    folded = tokens.get_by_role("button", name=re.compile("tokens folded"))
    expect(folded.first).to_have_text(re.compile(r"^prompt\d+ tokens folded$"))
    many = folded.count()
    assert many > 1
    assert re.fullmatch(r"\d+", tokens.locator("[data-at]").first.inner_text())
    folded.nth(1).press("Enter")
    expect(folded).to_have_count(many - 1)
    untrained = tokens.locator("[data-at][class*=off]").first
    expect(untrained).to_be_visible()
    assert "gradient" in untrained.evaluate("e => getComputedStyle(e).backgroundImage")
    untrained.hover()
    expect(tokens.get_by_role("tooltip")).to_contain_text("not trained")
    tokens.keyboard.press("e")
    expect(folded).to_have_count(0)


@pytest.mark.slow
def test_a_link_leads_to_a_token_of_a_long_sample(tokens: Page, token_viewer: Viewer) -> None:
    tokens.goto(f"{token_viewer.address}{LONG_TOKENS}&token=7001")
    expect(tokens.locator("[data-at='7001']")).to_be_in_viewport()
    expect(tokens.get_by_role("tooltip")).to_contain_text("#7,001")
    assert tokens.locator("[data-at]").count() < 6000
    tokens.locator("[data-at='7003']").click()
    expect(tokens).to_have_url(re.compile("token=7003"))
    tokens.get_by_role("group", name="Tokens, by arrow keys").evaluate("e => e.scrollTo(0, 0)")
    expect(tokens.get_by_role("tooltip")).to_be_hidden()
    tokens.locator("[data-at='3']").click()
    expect(tokens.get_by_role("tooltip")).to_contain_text("#3 ")
    tokens.locator("[data-at='3']").click()
    expect(tokens).not_to_have_url(re.compile("token="))


def look_at_strange_tokens(tokens: Page, token_viewer: Viewer) -> None:
    """Strange strings and numbers of a sample are shown as what they are."""
    tokens.on("dialog", lambda _: pytest.fail("a token ran"))
    tokens.goto(f"{token_viewer.address}runs/odd?sample=train/0/strange/0&view=tokens")
    flow = tokens.get_by_role("group", name="Tokens, by arrow keys")
    expect(flow).to_contain_text("<script>alert(1)</script>⟨U+202E⟩evil")
    assert max(tokens.locator("[data-at]").evaluate_all("all => all.map(e => e.textContent.length)")) <= 201
    tokens.locator("[data-at='0']").hover()
    expect(tokens.get_by_role("tooltip").locator("dd").first).to_have_text("–")
    for name in ("nothing", "odd⟨U+202E⟩ <b>"):
        tokens.get_by_role("combobox", name="Colour").select_option(label=name)
        expect(flow).to_contain_text("evil")
    expect(tokens.get_by_role("img", name=re.compile("^Tints from"))).to_be_visible()
    go(tokens, token_viewer, "runs/odd?sample=train/0/none/0&view=tokens")
    expect(tokens.get_by_role("heading", name="This sample has no tokens")).to_be_visible()


def test_rules_mark_what_they_take_out_and_thresholds_are_live(tokens: Page, token_viewer: Viewer) -> None:
    tokens.goto(token_viewer.address + PRIME_TOKENS)
    masks = tokens.get_by_role("group", name="Masks")
    menu(tokens, "Masks:")
    rule = masks.get_by_role("combobox", name="Mask")
    expect(rule.locator("option:checked")).to_have_text("Recorded flags")
    recorded = tokens.locator("[data-at][class*=first]")
    expect(recorded.first).to_be_visible()
    flagged = recorded.count()
    rule.select_option(label="DPPO")
    expect(masks).to_contain_text("agreement with the recorded flags 100%")
    expect(recorded).to_have_count(flagged)
    tokens.keyboard.press("Escape")
    recorded.first.hover()
    expect(tokens.get_by_role("tooltip")).to_contain_text(re.compile("DPPOmasked: Probability change .*(above|below)"))
    menu(tokens, "Masks:")
    masks.get_by_role("spinbutton", name="DPPO: high").fill("0.01")
    masks.get_by_role("spinbutton", name="DPPO: low").fill("0.01")
    low = masks.get_by_role("slider", name="DPPO: low")
    expect(low).to_have_value("0.01")
    low.press("ArrowRight")
    expect(masks.get_by_role("spinbutton", name="DPPO: low")).to_have_value("0.02")
    expect(recorded).not_to_have_count(flagged)
    masks.get_by_role("combobox", name="and").select_option(label="IPO")
    expect(tokens.locator("[data-at][class*=second]").first).to_be_visible()
    agreement = masks.get_by_text(re.compile(r"^agreement +\d+(\.\d+)?%$"))
    expect(agreement).to_have_attribute("title", re.compile("intersection over union"))
    form = tokens.get_by_role("group", name="Form")
    tokens.keyboard.press("Escape")
    form.get_by_role("button", name="Update").click()  # with the same rules and thresholds
    menu(tokens, "Thresholds:")
    bar = tokens.get_by_role("group", name="What the step does")
    expect(bar.get_by_label("Rule").locator("option:checked")).to_have_text("DPPO")
    expect(bar.get_by_role("spinbutton", name="DPPO: low")).to_have_value("0.02")
    expect(bar.get_by_label("compare with").locator("option:checked")).to_have_text("IPO")
    expect(tokens).to_have_url(re.compile("&rule=dppo[^&]*&rule=ipo$"))
    form.get_by_role("button", name="Text").click()
    tokens.reload()
    menu(tokens, "Masks:")
    expect(masks.get_by_role("spinbutton", name="DPPO: high")).to_have_value("0.01")
    masks.get_by_role("button", name="Reset").click()
    expect(recorded).to_have_count(flagged)


def go_to_the_worst(tokens: Page, token_viewer: Viewer) -> None:
    """The worst tokens lead to their places, beside shares by rule; last, on a telephone."""
    go(tokens, token_viewer, LONG_TOKENS)
    aside = tokens.get_by_role("complementary", name="Worst tokens")
    rows = aside.get_by_role("table").first.get_by_role("row")
    expect(rows).to_have_count(13)
    values = [float(text) for text in rows.locator("td:nth-child(2)").all_inner_texts()]
    assert values == sorted(values, reverse=True)
    token = int(rows.nth(3).locator("td").last.inner_text().replace(",", ""))
    rows.nth(3).get_by_role("button").click()
    expect(tokens.locator(f"[data-at='{token}']")).to_be_in_viewport()
    expect(tokens.get_by_role("tooltip")).to_contain_text(f"#{token:,} ")
    expect(rows.nth(3)).to_have_attribute("aria-current", "true")
    expect(aside.get_by_role("heading", name="Distribution")).to_be_visible()
    go(tokens, token_viewer, PRIME_TOKENS)
    by_rule = aside.get_by_role("row", name=re.compile(r"^IcePop \(prime-rl\)"))
    expect(by_rule).to_have_text(re.compile(r"^IcePop \(prime-rl\) 0\.2/5\d+([\d.]+%){3}$"))
    worst = int(rows.nth(1).locator("td").last.inner_text())
    rows.nth(1).get_by_role("button").hover()
    pointed = tokens.locator("[data-at][class*=pointed]")
    expect(pointed).to_have_attribute("data-at", str(worst))
    expect(tokens.get_by_text(re.compile(rf"^{worst} .* · Mismatch KL [\d.]+$"))).to_be_visible()
    tokens.locator(f"[data-at='{worst}']").hover()
    expect(pointed).to_have_count(0)
    expect(rows.nth(1)).to_have_attribute("data-pointed", "")
    tokens.set_viewport_size({"width": 390, "height": 844})
    expect(aside).to_have_count(0)
    tokens.get_by_text("Worst tokens, rules and distribution").click()
    expect(tokens.get_by_role("heading", name="Worst tokens")).to_be_visible()


def use_the_strip(tokens: Page, token_viewer: Viewer) -> None:
    """The strip goes to a token and selects a range."""
    tokens.goto(token_viewer.address + LONG_TOKENS)
    strip = tokens.get_by_role("slider", name="Entropy by position")
    expect(strip).to_be_visible()
    box = strip.bounding_box()
    assert box is not None
    blank = "c => !c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(part => part !== 0)"
    assert not strip.locator("canvas").evaluate(blank)
    tokens.mouse.click(box["x"] + box["width"] / 2, box["y"] + 20)
    expect(tokens).to_have_url(re.compile(r"token=(39|40)\d\d"))
    expect(tokens.locator("[data-at][class*=current]")).to_be_in_viewport()
    tokens.mouse.move(box["x"] + box["width"] * 0.75, box["y"] + 20)
    tokens.mouse.down()
    tokens.mouse.move(box["x"] + box["width"] * 0.8, box["y"] + 20, steps=4)
    tokens.mouse.up()
    expect(tokens.get_by_text(re.compile("^tokens (5,99|6,00).* to (6,39|6,40)"))).to_be_visible()
    expect(tokens.locator("[data-at='6001']")).to_be_in_viewport()
    places = tokens.get_by_role("complementary", name="Worst tokens").locator("tbody tr td:last-child")
    expect(tokens.get_by_role("heading", name="Worst tokens in the selected range")).to_be_visible()
    assert all(5990 <= int(text.replace(",", "")) <= 6410 for text in places.all_inner_texts()[:12])
    strip.focus()
    tokens.keyboard.press("Escape")
    expect(tokens.get_by_role("heading", name="Worst tokens in this sample")).to_be_visible()
    tokens.keyboard.press("End")
    expect(strip).to_have_attribute("aria-valuenow", "7999")
    expect(tokens.locator("[data-at='7999']")).to_be_in_viewport()


def read_the_table(tokens: Page, token_viewer: Viewer) -> None:
    """The table has a column for each token and a row for each series."""
    go(tokens, token_viewer, TOY_TOKENS)
    form = tokens.get_by_role("group", name="Form")
    form.get_by_role("button", name="Table").click()
    expect(tokens).to_have_url(re.compile("view=tokens&as=table"))
    table = tokens.get_by_role("table", name="Values of tokens, by arrow keys")
    names = table.get_by_role("rowheader").all_inner_texts()
    assert names[:5] == [
        "KL k3",
        "Token reward",
        "Log ratio to the reference",
        "KL",
        "Value",
    ]  # the tinted one, then all
    assert names[5:9] == [
        "Logprob at sampling", "Logprob of the reference", "Probability", "Probability of the reference",
    ]  # fmt: skip
    head = table.get_by_role("columnheader")
    expect(head.nth(1)).to_have_text("0 - <think>")
    expect(head.nth(2)).to_have_text("1 - ↵")
    kl = table.get_by_role("row").nth(4).get_by_role("cell")
    assert all(re.fullmatch(r"[−\d.e]+|–", text) for text in kl.all_inner_texts())
    assert len(set(kl.evaluate_all("all => all.map(e => e.style.backgroundColor)"))) > 2
    constant = table.get_by_role("row").nth(5).get_by_role("cell")
    assert set(constant.evaluate_all("all => all.map(e => e.style.backgroundColor)")) == {""}
    heat = tokens.get_by_role(
        "img", name=re.compile(r"^All \d+ tokens at once: Token reward, Log ratio to the reference, KL, ")
    )
    box = heat.bounding_box()
    assert box is not None
    painted = "c => c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(part => part !== 0)"
    tokens.wait_for_function(painted, arg=heat.locator("canvas").element_handle())
    tokens.mouse.click(box["x"] + box["width"] - 2, box["y"] + 2)
    last = int(table.get_attribute("aria-colcount") or 0) - 2
    expect(tokens).to_have_url(re.compile(f"token={last}$"))
    expect(head.last).to_be_in_viewport()
    tokens.get_by_role("button", name="Rows of the table").click()
    tokens.get_by_role("dialog", name="Rows of the table").get_by_label("Token reward").uncheck()
    expect(table.get_by_role("rowheader").nth(1)).to_have_text("Log ratio to the reference")
    expect(tokens.get_by_role("button", name="Rows of the table")).to_contain_text(f"{len(names) - 1} of {len(names)}")
    go(tokens, token_viewer, f"{LONG_TOKENS}&as=table&token=7000")
    expect(table.locator("[class*=current]")).to_have_text(re.compile("^7000 -"))
    expect(table.locator("[class*=current]")).to_be_in_viewport()
    table.focus()
    tokens.keyboard.press("End")
    expect(head.last).to_have_text("7999 - ·7999")
    expect(head.last).to_be_in_viewport()
    assert head.count() < 60
    tokens.keyboard.press("Home")
    expect(head.nth(1)).to_have_text("0 - ↵")
    head.nth(4).click()
    expect(tokens).to_have_url(re.compile("token=3$"))
    form.get_by_role("button", name="Text").click()
    expect(tokens.locator("[data-at='3'][class*=current]")).to_be_in_viewport()


def test_a_long_sample_by_its_strip_its_worst_tokens_and_its_table(tokens: Page, token_viewer: Viewer) -> None:
    use_the_strip(tokens, token_viewer)
    read_the_table(tokens, token_viewer)
    go_to_the_worst(tokens, token_viewer)


def test_the_update_shows_what_the_step_does_under_one_rule_and_another(tokens: Page, token_viewer: Viewer) -> None:
    tokens.goto(f"{token_viewer.address}{PRIME_TOKENS}&as=update")
    bar = tokens.get_by_role("group", name="What the step does")
    expect(bar.get_by_role("status")).to_have_count(1)
    expect(bar.get_by_label("Rule")).to_have_value("recorded")
    words = re.compile(r"up .*% · down .*% · masked or clipped \d+ of \d+ tokens")
    expect(bar.get_by_role("status")).to_contain_text(words)
    menu(tokens, "Thresholds:")
    expect(bar).to_contain_text("The run's configuration does not name this rule. Read at the first minibatch")
    expect(bar).to_contain_text(re.compile("A KL penalty of the loss, .*is omitted."))
    drawn = [tint for tint in tints(tokens) if tint]
    assert len(drawn) > 10
    bar.get_by_label("Rule").select_option("dapo")
    bar.get_by_label("compare with").select_option("icepop")
    menu(tokens, "Thresholds:")
    expect(bar.get_by_role("status")).to_have_count(2)
    before = bar.get_by_role("status").first.inner_text()
    low = bar.get_by_role("spinbutton", name="DAPO: low")
    low.fill("0")
    expect(bar.get_by_role("status").first).not_to_have_text(before)
    bar.get_by_role("slider", name="DAPO: low").press("End")
    expect(low).to_have_value("1")
    expect(bar.get_by_role("status").first).to_contain_text("masked or clipped 0 of")
    low.fill("0.2")
    expect(bar.get_by_role("status").first).to_have_text(before)
    legend = bar.get_by_role("list", name="What the colours mean").get_by_role("listitem")
    expect(legend).to_have_text([
        re.compile(r"pushed down *\d+.*pushed up *\d+"), re.compile(r"masked or clipped *\d"),
        re.compile(r"advantage 0 *\d"), re.compile(r"not trained *\d"), re.compile(r"the second rule differs *[1-9]"),
    ])  # fmt: skip
    expect(tokens.get_by_role("slider", name="Update by DAPO by position")).to_be_visible()
    heat = tokens.get_by_role("img", name=re.compile("^All [0-9]+ tokens at once: "))
    hues = "c => new Set(new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer)).size"
    tokens.wait_for_function(f"c => ({hues})(c) > 8", arg=heat.locator("canvas").element_handle())
    expect(tokens.get_by_role("region", name="By role")).to_contain_text("assistant")
    tokens.keyboard.press("Escape")
    tokens.locator("[data-at][class*=first]").first.hover()
    expect(tokens.get_by_role("tooltip")).to_contain_text("masked or clipped")
    expect(tokens).to_have_url(re.compile("as=update"))
    tokens.get_by_role("group", name="Form").get_by_role("button", name="Text").click()
    expect(bar).to_have_count(0)


def see_who_carries_the_update(tokens: Page, token_viewer: Viewer) -> None:
    """The update of the group and the step shows who carries it."""
    tokens.goto(f"{token_viewer.address}runs/alike?sample=train/1/a%252Fb%2520%253Ci%253E/0&view=tokens&as=update")
    aside = tokens.get_by_role("complementary", name="Shares of the update")
    whole = aside.get_by_role("region", name="The update of this")
    expect(whole.get_by_role("row", name="trained tokens")).to_contain_text("60")
    positions = aside.get_by_role("region", name="By position").get_by_role("rowheader")
    expect(positions).to_have_text(["0–7", "8–15", "16–31", "32–63"])
    aside.get_by_role("button", name="group", exact=True).click()
    expect(whole.get_by_role("row", name="trained tokens")).to_contain_text("180")
    expect(positions).to_have_count(4)
    expect(whole.get_by_role("row", name="advantage 0")).to_contain_text("60 · 33%")
    expect(whole).to_contain_text("Over 3 samples.")
    tokens.get_by_label("compare with").select_option("reinforce")
    samples = aside.get_by_role("region", name="By sample").locator("tbody").get_by_role("row")
    first = samples.filter(has=tokens.get_by_role("link", name="a/b <i>/0", exact=True))
    expect(first).to_have_attribute("aria-current", "true")
    expect(first.get_by_role("cell")).to_have_text([re.compile(r"^up \d+%lost [\d.]+%$"), "up 50%"])
    last = samples.filter(has=tokens.get_by_role("link", name="a/b <i>/2", exact=True))
    expect(last.get_by_role("cell")).to_have_text(["nothing: advantage 0", "nothing: advantage 0"])
    samples.get_by_role("link", name="a/b <i>/1", exact=True).press("Enter")
    expect(tokens).to_have_url(re.compile("%253E/1&view=tokens&as=update&of=group&rule=ppo&rule=reinforce$"))
    expect(first).not_to_have_attribute("aria-current", "true")
    differences = aside.get_by_role("region", name="Treated differently")
    expect(differences).to_contain_text("tokens by PPO, GRPO and REINFORCE")
    expect(differences).to_contain_text(re.compile(r"In [12] of 3 samples\."))
    rows = differences.locator("tbody").get_by_role("row")
    expect(rows.first).to_have_text(re.compile(r"^a/b <i>/[01]\d+[\d.]+%$"))
    rows.first.get_by_role("link").click()
    expect(rows.first).to_have_attribute("aria-current", "true")
    expect(tokens).to_have_url(re.compile(r"&token=\d+$"))
    expect(tokens.locator("[data-at][class*=current][class*=second]")).to_be_in_viewport()
    aside.get_by_role("button", name="step").click()
    expect(whole).to_contain_text("Over 3 samples. Effective sample size: 3.00.")
    expect(whole).to_contain_text("2 samples left out: no logprobs.1 sample left out: discarded.")
    expect(samples.first.get_by_role("link")).to_have_text(re.compile("^a/b <i>/[01]$"))
    share = samples.first.get_by_role("cell").first
    before = share.inner_text()
    menu(tokens, "Thresholds:")
    tokens.get_by_role("slider", name="PPO, GRPO: high").press("End")
    expect(share).not_to_have_text(before)
    tokens.route("**/update?*", lambda route: route.abort())
    aside.get_by_label("Weight").select_option(label="samples equally")
    again = aside.get_by_role("alert").get_by_role("button", name="Try again")
    expect(again).to_be_visible()
    tokens.unroute("**/update?*")
    again.click()
    expect(whole).to_contain_text("Over 3 samples.")


def put_two_beside_each_other(tokens: Page, token_viewer: Viewer) -> None:
    """Two samples of a group are beside each other from where they part."""
    sample, scale = "train/1/a%252Fb%2520%253Ci%253E/0", "colour=logprobs&scale=symmetric:-0.001..0.001:logprobs"
    go(tokens, token_viewer, f"runs/alike?sample={sample}&view=tokens&{scale}")
    beside = menu(tokens, "Second sample").get_by_label("Beside")
    beside.focus()
    expect(beside.locator("option")).to_have_text(["no other", "a/b <i>/1 · reward none", "a/b <i>/2 · reward none"])
    beside.select_option(index=2)
    expect(tokens).to_have_url(re.compile("view=tokens&.*&beside=.*/2$"))
    expect(tokens.get_by_text("The first difference is at token 59; the tokens before are the same")).to_be_visible()
    sides = ("This sample", "The other sample")
    here, there = (tokens.get_by_role("region", name=name, exact=True) for name in sides)
    for side, head, last in (
        (here, "a/b <i>/0this sample–Advantage +1.00", " 1.0"),
        (there, "a/b <i>/2beside–Advantage 0.00", " 0.0"),
    ):
        expect(side).to_contain_text(head)
        expect(side.locator("[data-at]")).to_have_text([last])
        assert "color-mix" in (side.locator("[data-at='59'][class*=parting]").get_attribute("style") or "")
    tokens.locator("[data-at]").last.hover()
    expect(tokens.get_by_role("tooltip")).to_contain_text('" 0.0"')
    there.get_by_role("button", name="the same in both 59 tokens folded").press("Enter")
    expect(there.locator("[data-at]")).to_have_count(60)
    expect(here.locator("[data-at]")).to_have_count(1)
    there.get_by_role("group", name="Tokens of the other sample, by arrow keys").focus()
    tokens.keyboard.press("Home")
    expect(there.locator("[data-at='0'][class*=current]")).to_be_visible()
    there.get_by_role("link", name="a/b <i>/2").click()
    expect(tokens).not_to_have_url(re.compile("beside"))
    expect(there).to_have_count(0)
    go(tokens, token_viewer, "runs/alike?sample=train/1/a%252Fb%2520%253Ci%253E/2&view=group&diff=1")
    tokens.get_by_role("link", name="Their tokens").click()
    expect(tokens).to_have_url(re.compile("/2&view=tokens&.*beside=.*/0$"))
    expect(there).to_contain_text("a/b <i>/0beside")


def leave_the_padding_out(tokens: Page, token_viewer: Viewer) -> None:
    """The pad token of the settings is left out at both ends."""
    go(tokens, token_viewer, "runs/alike?sample=train/1/padded/0&view=tokens")
    expect(tokens.locator("[data-at]")).to_have_count(10)
    address = tokens.url
    tokens.get_by_role("link", name="Settings").click()
    tokens.get_by_role("textbox", name="Pad token").fill("_")
    tokens.get_by_role("textbox", name="Pad token").press("Enter")
    go(tokens, token_viewer, address.removeprefix(token_viewer.address))
    expect(tokens.locator("[data-at]")).to_have_text([" one", " two"])
    expect(tokens.get_by_text("3 at the start and 5 at the end left out: padding by the pad token")).to_be_visible()
    strip = tokens.get_by_role("slider", name="Entropy by position")
    strip.press("End")
    expect(strip).to_have_attribute("aria-valuenow", "4")
    strip.press("Home")
    expect(strip).to_have_attribute("aria-valuenow", "3")
    expect(tokens.get_by_role("region", name="Worst tokens").get_by_role("button", name="·")).to_have_count(2)
    tokens.get_by_role("group", name="Form").get_by_role("button", name="Table").click()
    heads = tokens.get_by_role("table", name="Values of tokens").get_by_role("columnheader")
    expect(heads).to_have_text(["token", "3 - ·one", "4 - ·two"])


def test_a_group_by_its_update_side_by_side_and_without_its_padding(tokens: Page, token_viewer: Viewer) -> None:
    see_who_carries_the_update(tokens, token_viewer)
    put_two_beside_each_other(tokens, token_viewer)
    leave_the_padding_out(tokens, token_viewer)


def follow_the_worst(tokens: Page, token_viewer: Viewer) -> None:
    """The worst tokens of the group, the step and the run lead there."""
    go(tokens, token_viewer, PRIME_TOKENS)
    worst = tokens.get_by_role("region", name="Worst tokens")
    first = worst.get_by_role("row").nth(1)
    expect(first).to_be_visible()
    for scope in ("group", "step", "run"):
        worst.get_by_role("button", name=scope, exact=True).click()
        expect(worst.get_by_role("columnheader", name="sample")).to_be_visible()
        expect(first.get_by_role("link")).to_be_visible()
    worst.get_by_role("row").last.get_by_role("link").click()
    expect(tokens).to_have_url(re.compile(r"token=\d+"))
    expect(tokens).to_have_url(re.compile("view=tokens"))


def test_a_sample_of_ids_and_its_worst_tokens(tokens: Page, token_viewer: Viewer) -> None:
    look_at_ids(tokens, token_viewer)
    follow_the_worst(tokens, token_viewer)


def test_the_tokens_of_a_run_by_step_position_rule_and_string(tokens: Page, token_viewer: Viewer) -> None:
    tokens.goto(f"{token_viewer.address}runs/toy")
    tokens.get_by_role("navigation", name="Pages").get_by_role("link", name="Tokens").click()
    expect(tokens).to_have_title(re.compile("^toy · Tokens"))
    by_step = asked(token_viewer, "token-steps?split=train&series=kl_k3")
    region = tokens.get_by_role("region", name="By step")
    expect(region.get_by_role("img", name="Mean KL k3 over 3 steps")).to_be_visible()
    mean = region.locator("dl").get_by_text("mean over tokens").locator("xpath=following-sibling::dd")
    expect(mean).to_have_text(f"{by_step['mean'][2]:#.3g}")
    tokens.keyboard.press("[")
    expect(mean).to_have_text(f"{by_step['mean'][1]:#.3g}")
    tokens.get_by_role("combobox", name="Series").select_option("Value error")
    expect(region.get_by_role("img", name="Mean Value error over 3 steps")).to_be_visible()
    expect(tokens.get_by_role("region", name="By position").get_by_role("img")).to_be_visible()
    expect(tokens.get_by_role("region", name="By rule")).to_contain_text("No rule applies")

    words = asked(token_viewer, "token-words?split=train&step=1")["words"]
    most = tokens.get_by_role("region", name="Token strings with most KL")
    expect(most.get_by_role("row").nth(1).locator("td").last).to_have_text(str(words[0]["with_kl"]))
    tokens.get_by_role("textbox", name="Compare with step").fill("7")
    tokens.get_by_role("textbox", name="Compare with step").press("Enter")
    tokens.get_by_role("textbox", name="at least").fill("3")
    tokens.get_by_role("textbox", name="at least").press("Enter")
    changes = tokens.get_by_role("region", name="Token strings from step 2 to step 1")
    expect(tokens.get_by_role("status").filter(has_text="There is no step 7: 2 is the nearest.")).to_be_visible()
    gained = asked(token_viewer, "token-changes?split=train&before=2&after=1&min_tokens=3&limit=12")["gained"]
    expect(changes.get_by_role("table", name="Gained").get_by_role("row")).to_have_count(len(gained) + 1)
    expect(tokens).to_have_url(re.compile("series=value_error&before=7&least=3"))

    changes.get_by_role("link").first.click()
    expect(tokens).to_have_url(re.compile("where=token"))
    samples = asked(token_viewer, f"samples?split=train&step=1&where=token+%22{quote(gained[0]['after']['text'])}%22")
    expect(tokens.get_by_role("status").filter(has_text=f"{samples['total']} of")).to_be_visible()
    tokens.go_back()

    worst = tokens.get_by_role("region", name="Worst tokens")
    expect(worst.get_by_role("link").first).to_be_visible()
    values = [float(text) for text in worst.locator("td:nth-child(2)").all_inner_texts()]
    assert len(values) == 20 and values == sorted(values, reverse=True)
    worst.get_by_role("link").first.click()
    expect(tokens).to_have_url(re.compile(r"sample=train.*view=tokens.*token=\d+"))
    expect(tokens.get_by_role("combobox", name="Colour")).to_have_value("value_error")
    expect(worst.get_by_role("columnheader", name="Value error")).to_be_visible()
    expect(tokens.get_by_role("tooltip")).to_be_visible()


def look_at_a_strange_run(tokens: Page, token_viewer: Viewer) -> None:
    """Strange tokens of a run are text on one line."""
    go(tokens, token_viewer, "runs/odd/tokens?series=odd%E2%80%AE+%3Cb%3E&side=high")
    rows = tokens.get_by_role("region", name="Worst tokens").get_by_role("link")
    expect(rows.first).to_be_visible()
    assert "\u202e" not in tokens.locator("main").inner_text()
    assert max(map(len, rows.all_inner_texts())) < 60
    most = tokens.get_by_role("region", name="Token strings with most KL")
    expect(most).to_contain_text("no KL")
    go(tokens, token_viewer, "runs/alike/tokens")
    most.get_by_role("button", name="all steps").click()
    expect(most.get_by_role("link", name="·same")).to_be_visible()
    expect(tokens).to_have_url(re.compile("strings=run"))


def test_strange_tokens_are_shown_as_what_they_are(tokens: Page, token_viewer: Viewer) -> None:
    look_at_strange_tokens(tokens, token_viewer)
    look_at_a_strange_run(tokens, token_viewer)
