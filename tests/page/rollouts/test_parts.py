"""The parts of the page, each as it is used: panes, steps, runs, the sample, lists and their settings."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, Response, expect

from tests.index.support import eventually
from tests.page.everywhere import RICH
from tests.page.support import Viewer, choose_chart, go
from tests.server.support import report_data

pytestmark = pytest.mark.browser


@pytest.mark.slow
def test_panes_fold_and_resize_and_remember_it(wide: Page, viewer: Viewer) -> None:
    wide.goto(viewer.address + RICH)
    edge = wide.get_by_role("separator", name="Width of the list")
    before = int(edge.get_attribute("aria-valuenow") or 0)
    edge.press("ArrowRight")
    expect(edge).to_have_attribute("aria-valuenow", str(before + 16))
    box = edge.bounding_box()
    assert box is not None
    wide.mouse.move(box["x"] + 2, 400)
    wide.mouse.down()
    wide.mouse.move(box["x"] + 42, 400)
    wide.mouse.up()
    dragged = int(edge.get_attribute("aria-valuenow") or 0)
    assert abs(dragged - before - 56) <= 4
    wide.get_by_role("button", name="Hide the charts").click()
    wide.reload()
    expect(edge).to_have_attribute("aria-valuenow", str(dragged))
    wide.get_by_role("button", name="Show the charts").click()
    wide.get_by_role("button", name="Hide the list").click()
    wide.reload()
    expect(wide.get_by_role("complementary", name="Charts")).to_be_visible()
    wide.get_by_role("button", name="Show the list of samples").click()
    expect(wide.get_by_role("list", name="Groups")).to_be_visible()


def go_to_steps(wide: Page, viewer: Viewer) -> None:
    """A step is gone to in every way."""
    go(wide, viewer, RICH)
    field = wide.get_by_role("textbox", name="Step number")
    field.fill("1")
    field.press("Enter")
    expect(wide).to_have_url(re.compile("sample=train/1/"))
    field.fill("999")
    field.press("Enter")
    expect(wide).to_have_url(re.compile("sample=train/5/"))
    for name, step in (("First step", 0), ("Next step", 1), ("Last step", 5), ("Previous step", 4)):
        wide.get_by_role("button", name=name).click()
        expect(wide).to_have_url(re.compile(f"sample=train/{step}/"))
    wide.get_by_role("button", name="All steps").press("Enter")
    options = wide.get_by_role("listbox", name="Steps").get_by_role("option")
    expect(options).to_have_count(6)
    expect(options.nth(2)).to_have_text(re.compile(r"^2\s*24\s*0\.\d+$"))
    wide.get_by_role("combobox", name="Find a step").fill("3")
    expect(options).to_have_count(1)
    wide.keyboard.press("Enter")
    expect(wide).to_have_url(re.compile("sample=train/3/"))
    spark = wide.locator("svg[class*=spark]")
    box = spark.bounding_box()
    assert box is not None
    spark.click(position={"x": 1, "y": 10})
    expect(wide).to_have_url(re.compile("sample=train/0/"))
    wide.mouse.move(box["x"] + 2, box["y"] + 10)
    wide.mouse.down()
    wide.mouse.move(box["x"] + box["width"] - 1, box["y"] + 10, steps=4)
    wide.mouse.up()
    expect(wide).to_have_url(re.compile("sample=train/5/"))


def is_kept(reply: Response) -> bool:
    """Whether this answers a change of what a person adds."""
    return reply.request.method == "POST" and "/api/state" in reply.url


@pytest.mark.slow
def test_a_run_is_hidden_and_shown_again(wide: Page, viewer: Viewer) -> None:
    wide.goto(viewer.address)
    expect(wide.get_by_role("heading", level=1)).to_have_text("8 runs")
    wide.get_by_role("button", name="Name, colour and note of toy").click()
    with wide.expect_response(is_kept):
        wide.get_by_label("Hide in the list of runs").click()
    expect(wide.get_by_role("link", name="toy", exact=True)).to_have_count(0)
    wide.get_by_role("button", name="1 hidden run").click()
    wide.get_by_role("button", name="Name, colour and note of toy").click()
    with wide.expect_response(is_kept):
        wide.get_by_label("Hide in the list of runs").uncheck()
    wide.reload()
    expect(wide.get_by_role("link", name="toy", exact=True)).to_be_visible()


def open_the_help(wide: Page) -> None:
    """The help has every key, and the bar turns the theme."""
    wide.get_by_role("button", name="Keys (?)").click()
    card = wide.get_by_role("dialog", name="Keys")
    title, close = card.get_by_role("heading", name="Keys").bounding_box(), card.get_by_text("Close").bounding_box()
    assert title and close and title["x"] + title["width"] < close["x"] and abs(title["y"] - close["y"]) < 12
    keys = card.locator("dt").all_inner_texts()
    assert {"←", "→", "↑", "↓", "[", "]", "g", "G", "r", "e", "/", "f", "l", "b", "y", "v", "n"} <= set(keys)
    wide.keyboard.press("Escape")
    was = wide.evaluate("getComputedStyle(document.body).backgroundColor")
    wide.get_by_role("button", name="Light or dark").click()
    expect(wide.locator("html")).to_have_attribute("data-theme", "dark")
    assert wide.evaluate("getComputedStyle(document.body).backgroundColor") != was
    wide.get_by_role("button", name="Light or dark").click()
    expect(wide.locator("html")).to_have_attribute("data-theme", "light")


def look_at_a_sample(wide: Page, viewer: Viewer) -> None:
    """The sample, and all that is known of it."""
    wide.goto(viewer.address + RICH)
    main = wide.get_by_role("main", name="Sample")
    expect(main.get_by_role("heading", name="Sample 1 of 4")).to_be_visible()
    facts = main.locator("header dl").inner_text()
    for said in (
        "Reward",
        "Status",
        "completed",
        "Env",
        "arithmetic",
        "format",
        "length penalty",
        "Policy",
        "4",
    ):
        assert said.lower() in facts.lower(), facts
    # the golden answer beside the answer, thoughts open and also those that never end, calls as cards
    expect(main.get_by_role("region", name="Golden answer")).to_contain_text("132")
    expect(main.get_by_text(re.compile("^Thought · 1"))).to_have_count(2)
    expect(main.get_by_role("group", name="Call of calculator").first).to_contain_text("a 12")
    expect(main.get_by_role("group", name="Its result").first).to_contain_text("132")
    turn = main.get_by_role("group", name="System")
    turn.get_by_role("button", name=re.compile("^Copy")).click()
    assert "in a box" in wide.evaluate("navigator.clipboard.readText()")
    turn.get_by_role("button", name="System").click()
    expect(turn.get_by_role("button", name="System")).to_have_attribute("aria-expanded", "false")
    main.get_by_role("button", name="Expand all").click()
    expect(turn.get_by_role("button", name="System")).to_have_attribute("aria-expanded", "true")
    main.get_by_role("button", name="Collapse all").click()
    expect(turn.get_by_role("button", name="System")).to_have_attribute("aria-expanded", "false")
    # to the next by the navigator that floats
    floating = wide.get_by_role("navigation", name="Samples before and after this one")
    expect(floating.get_by_role("button", name="Previous sample")).to_be_disabled()
    floating.get_by_role("button", name="Next sample").click()
    expect(wide).to_have_url(re.compile("sample=train/4/0/1"))
    floating.get_by_role("button", name="Next sample").click()
    expect(main.get_by_text("It never ends")).to_be_visible()
    expect(main.get_by_text(re.compile("^Thought · .*, without an end"))).not_to_have_count(0)
    go(wide, viewer, "runs/rich?sample=train/4/1/4")
    expect(main.get_by_role("group", name="System")).to_contain_text("Be brief.")
    go(wide, viewer, "runs/toy")
    expect(main.get_by_role("region", name="Reference response")).to_be_visible()


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1100, 1720])
def test_what_copies_a_turn_covers_none_of_its_text(wide: Page, viewer: Viewer, width: int) -> None:
    wide.set_viewport_size({"width": width, "height": 900})
    wide.goto(viewer.address + RICH)
    turn = wide.get_by_role("main", name="Sample").get_by_role("group", name=re.compile("^(System|User|Assistant)"))
    copies = turn.get_by_role("button", name=re.compile("^Copy"))
    expect(copies.first).to_be_attached()
    assert copies.count() > 2
    for button in copies.all():
        assert button.evaluate("""(button) => {
          const own = button.getBoundingClientRect();
          const text = button.closest('[role=group]').lastElementChild.getBoundingClientRect();
          return own.width > 0 && own.right <= innerWidth && (own.left >= text.right || own.bottom <= text.top + 1);
        }""")


@pytest.mark.slow
def test_the_navigator_counts_what_is_leafed_through(wide: Page, viewer: Viewer) -> None:
    """The group where whole groups are listed; the list where samples are, or where a filter takes some out."""
    floating = wide.get_by_role("navigation", name="Samples before and after this one")
    wide.goto(f"{viewer.address}{RICH}")
    group = wide.get_by_role("main", name="Sample").get_by_role("heading", name=re.compile("^Sample 1 of"))
    expect(group).to_be_visible()
    of_group = group.inner_text().split()[-1]
    expect(floating).to_contain_text(f"1 / {of_group}")
    for more in ("&mode=samples", "&where=reward+%3E%3D+-100"):
        wide.goto(f"{viewer.address}{RICH}{more}")
        count = floating.get_by_title(re.compile("in the list$"))
        expect(count).to_have_text(re.compile(r"^\d+ / \d+$"))
        here = re.findall(r"\d+", count.get_attribute("title") or "")
        assert re.findall(r"\d+", count.inner_text()) == here and here[1] != of_group
        expect(wide.get_by_role("heading", name=f"Sample {here[0]} of {here[1]}")).to_be_visible()


def read_a_long_text(wide: Page, viewer: Viewer) -> None:
    """Long text opens at its end, unless one says not."""
    place = """() => {
      const box = document.querySelector('[role=region][aria-label^=Text]');
      return box.scrollTop / (box.scrollHeight - box.clientHeight);
    }"""
    go(wide, viewer, "runs/rich?sample=train/4/0/3")
    box = wide.get_by_role("region", name=re.compile("^Text: Assistant")).last
    expect(box).to_be_visible()
    eventually(lambda: wide.evaluate(place) > 0.9)
    expect(wide.get_by_role("button", name="Full length").last).to_be_in_viewport()  # below the end of the text
    go(wide, viewer, "settings")
    wide.get_by_label("Long text opens at its end").uncheck()
    go(wide, viewer, "runs/rich?sample=train/4/0/3")
    expect(box).to_be_visible()
    assert wide.evaluate(place) == 0
    assert wide.evaluate("document.querySelector('[data-scroll=sample]').scrollTop") == 0


def test_any_number_is_drawn_by_step_below_the_reward(wide: Page, viewer: Viewer) -> None:
    wide.goto(viewer.address + "runs/rich?sample=train/4/0/0&chart=turns")
    for name in ("Response tokens", "reward.format"):
        choose_chart(wide, name)
    tokens, form = (wide.get_by_role("region", name=f"{name} by step") for name in ("Response tokens", "reward.format"))
    expect(form.get_by_role("img")).to_have_attribute("aria-label", re.compile(r"over 6 steps: from 0\.5"))
    expect(form.get_by_role("heading")).to_contain_text("0.500")
    expect(tokens.get_by_role("img")).to_be_visible()
    expect(wide).to_have_url(re.compile("chart=response_tokens&chart=reward.format"))
    form.get_by_role("button", name="Move reward.format", exact=True).press("Alt+ArrowUp")
    expect(wide).to_have_url(re.compile("chart=reward.format&chart=response_tokens"))
    tokens.get_by_role("button", name=re.compile("^Menu of")).click()
    tokens.get_by_role("button", name="Duplicate").click()
    expect(tokens).to_have_count(2)
    tokens.nth(1).get_by_role("button", name="Remove Response tokens", exact=True).press("Enter")
    average = wide.get_by_role("button", name="EMA off")
    average.click()
    expect(wide.get_by_role("button", name="EMA 5")).to_have_attribute("aria-pressed", "true")
    expect(wide).to_have_url(re.compile("ema=5"))
    choose_chart(wide, "Mixed")
    mixed = wide.get_by_role("region", name="Groups: mixed by step")
    expect(mixed.get_by_role("img")).to_be_visible()
    wide.reload()
    expect(mixed.get_by_role("img")).to_be_visible()
    mixed.get_by_role("button", name="Remove Groups: mixed").press("Enter")
    expect(tokens.get_by_role("img")).to_be_visible()
    tokens.get_by_role("button", name="Remove Response tokens", exact=True).press("Enter")
    expect(tokens).to_have_count(0)
    go(wide, viewer, "runs/tinker")
    choose_chart(wide, "env/all/reward/total")
    logged = wide.get_by_role("region", name="env/all/reward/total by step")
    expect(logged.get_by_role("img")).to_be_visible()
    expect(wide).to_have_url(re.compile("chart=trainer.env"))
    go(wide, viewer, "runs/rich?sample=train/4/0/0&chart=not_there")
    expect(wide.get_by_role("region", name="not_there by step")).to_contain_text("No sample of this run")
    go(wide, viewer, "runs/toy")
    expect(wide.get_by_role("region", name="reward.format by step")).to_contain_text("No sample of this run")
    wide.get_by_role("button", name="Remove reward.format").press("Enter")
    expect(wide.get_by_role("region", name="Reward by step").get_by_role("img")).to_be_visible()


def test_the_list_shows_what_one_chooses_in_the_order_one_chooses(wide: Page, viewer: Viewer) -> None:
    wide.goto(viewer.address + "runs/toy?mode=samples")
    rows = wide.get_by_role("list", name="Samples").get_by_role("listitem")
    expect(rows.first).to_be_visible()
    offered = wide.get_by_label("Sort by").locator("option").all_inner_texts()
    for name in (
        "By index", "Reward", "Response length", "Mean log-ratio (avg_log_ratio)", "Sum of log-ratio (sum_log_ratio)",
        "Mean KL (avg_kl)", "Sum of KL (sum_kl)", "Largest KL (max_kl)", "Reference reward (ref_reward)",
        "Reward gap (reward_gap)",
    ):  # fmt: skip
        assert name in offered, offered
    wide.get_by_label("Sort by").select_option("reward")
    expect(wide).to_have_url(re.compile("sort=-reward"))
    wide.get_by_role("button", name="Sorted descending: reverse the order").click()
    expect(wide).to_have_url(re.compile("sort=reward"))
    wide.get_by_label("Sort by").focus()
    wide.get_by_label("Sort by").select_option("response_chars")
    figures = rows.locator("[data-column=response_chars]")
    expect(figures.nth(1)).to_be_visible()
    lengths = [int(one.replace(",", "")) for one in figures.all_inner_texts()]
    assert lengths == sorted(lengths, reverse=True) and lengths[0] > lengths[-1]
    wide.get_by_label("Filter", exact=True).fill("mean_kl >= 0")
    wide.get_by_label("Filter", exact=True).press("Enter")
    wide.get_by_role("button", name="by mean_kl").click()
    expect(wide).to_have_url(re.compile("sort=-derived.mean_kl"))
    chosen = wide.get_by_label("Sort by").locator("option:checked")
    expect(chosen).to_have_text("Mean token KL (mean_kl)")
    expect(wide.get_by_role("button", name="by mean_kl")).to_have_count(0)
    wide.get_by_label("Filter", exact=True).fill("")
    wide.get_by_label("Filter", exact=True).press("Enter")
    wide.get_by_label("Sort by").select_option("index")
    wide.get_by_role("button", name="Table", exact=True).click()
    wide.get_by_role("button", name="List options").click()
    advantage = wide.get_by_role("group", name="Columns").get_by_label("Advantage")
    expect(advantage).not_to_be_checked()  # as in the table: this run has none
    expect(wide.get_by_role("group", name="Columns")).to_contain_text("Advantageno sample has it")
    wide.keyboard.press("Escape")
    expect(wide.get_by_role("button", name="Advantage", exact=True)).to_have_count(0)
    wide.get_by_role("button", name="Samples", exact=True).click()
    wide.get_by_role("button", name="List options").click()
    wide.get_by_label("Find a column").fill("avg_kl")
    wide.get_by_role("group", name="Columns").get_by_role("checkbox").check()
    wide.get_by_role("button", name="Prompt", exact=True).click()
    tips = wide.get_by_label("Tooltips with whole prompts and previews")
    has_tips = tips.is_checked()
    tips.set_checked(not has_tips)
    wide.keyboard.press("Escape")
    expect(rows.first.locator("[data-column=avg_kl] i")).to_be_visible()
    assert (not rows.first.get_by_role("link").get_attribute("title")) == has_tips
    go(wide, viewer, "runs/tele?split=train&step=5&mode=groups")
    group = wide.get_by_role("list", name="Groups").get_by_role("listitem").first
    expect(group.locator("[data-member]").first).to_be_visible()
    expect(group).to_contain_text("±")
    wide.get_by_label("Steps of the list").select_option("range")
    wide.get_by_role("textbox", name="First step").fill("0")
    wide.get_by_role("textbox", name="Last step").fill("5")
    wide.get_by_role("textbox", name="Last step").press("Enter")
    expect(wide).to_have_url(re.compile("scope=0:5|scope=0%3A5"))


def take_the_list_away(wide: Page, viewer: Viewer) -> None:
    """The samples of the list are taken away."""
    wide.goto(f"{viewer.address}{RICH}&where=reward+%3C+0.3")
    wide.get_by_role("list", name="Groups").get_by_role("link").first.wait_for()
    card = wide.get_by_role("dialog", name="Export")
    gear = wide.get_by_role("button", name="List options")
    gear.click()
    wide.get_by_role("button", name="Report of these samples").click()
    expect(card.get_by_role("button", name="Report")).to_have_attribute("aria-pressed", "true")
    expect(card).to_contain_text("reward < 0.3")
    wide.keyboard.press("Escape")
    expect(gear).to_be_focused()
    wide.keyboard.press("Control+k")
    wide.keyboard.type("export")
    wide.keyboard.press("Enter")
    expect(card).to_contain_text("reward < 0.3")
    for kind, ending in (("JSON lines", "jsonl"), ("CSV", "csv"), ("Parquet", "parquet")):
        card.get_by_role("button", name=kind).click()
        expect(card.get_by_role("link", name="Download")).to_have_attribute("href", re.compile(ending))
    with wide.expect_download() as taken:
        card.get_by_role("link", name="Download").click()
    assert taken.value.path().read_bytes()[:4] == b"PAR1"


def share_the_list(wide: Page, viewer: Viewer, tmp_path: Path) -> None:
    """The samples of the list are shared as a report."""
    go(wide, viewer, f"{RICH}&where=reward+%3C+0.3")
    wide.get_by_role("list", name="Groups").get_by_role("link").first.wait_for()
    wide.keyboard.press("Control+k")
    wide.keyboard.type("report of the samples")
    wide.keyboard.press("Enter")
    card = wide.get_by_role("dialog", name="Export")
    card.get_by_role("group", name="Notes").get_by_role("button", name="With", exact=True).click()
    with wide.expect_download() as taken:
        card.get_by_role("link", name="Download").click()
    file = tmp_path / taken.value.suggested_filename
    assert file.suffix == ".html"
    taken.value.save_as(file)
    wide.goto(file.as_uri())
    first = wide.get_by_role("navigation", name="Samples").get_by_role("button").first
    expect(first.locator("small")).to_have_attribute("title", re.compile("^train/"))
    expect(wide.get_by_role("main", name="Sample")).to_contain_text("Reward")


def share_one_sample(wide: Page, viewer: Viewer) -> None:
    """One sample is shared as a report or by a link."""
    go(wide, viewer, "runs/toy?view=tokens")
    share = wide.get_by_role("button", name="Share", exact=True)
    share.click()
    card = wide.get_by_role("dialog", name="Export")
    expect(card).to_contain_text("Share this sample")
    with wide.expect_download() as taken:
        card.get_by_role("link", name="Download").click()
    samples = report_data(taken.value.path().read_bytes())["samples"]
    here = wide.get_by_role("button", name="copy the id").inner_text()
    assert [one["reply"]["id"] for one in samples] == [here] and samples[0]["tokens"] is not None
    wide.keyboard.press("s")
    card.get_by_role("button", name="Copy a link instead").click()
    assert wide.evaluate("navigator.clipboard.readText()") == wide.url
    wide.keyboard.press("Control+k")
    wide.keyboard.type("share")
    expect(wide.get_by_role("listbox", name="Found").get_by_role("option").first).to_contain_text("Share this sample")


def test_samples_are_taken_away_and_shared(wide: Page, viewer: Viewer, tmp_path: Path) -> None:
    take_the_list_away(wide, viewer)
    share_one_sample(wide, viewer)
    wide.keyboard.press("Escape")
    share_the_list(wide, viewer, tmp_path)


def look_beside(wide: Page, viewer: Viewer) -> None:
    """What lies beside the samples of a run."""
    go(wide, viewer, "runs/loop/run")
    main = wide.get_by_role("main", name="Run")
    for part in ("Configuration", "Checkpoints", "Code", "Files"):
        expect(main.locator("summary").filter(has_text=part)).to_be_visible()
    expect(main.locator("table").first).to_contain_text("cumulative_tokens")
    go(wide, viewer, "settings")
    expect(wide.get_by_role("button", name=re.compile("Clear"))).to_be_visible()
    go(wide, viewer, "runs/rich/run")
    main.get_by_role("link", name=re.compile("problem")).click()
    expect(wide.get_by_role("heading", level=1)).to_contain_text("could not be read")


def test_the_sample_what_lies_beside_it_and_its_steps(wide: Page, viewer: Viewer) -> None:
    look_at_a_sample(wide, viewer)
    look_beside(wide, viewer)
    read_a_long_text(wide, viewer)
    go_to_steps(wide, viewer)
    open_the_help(wide)
