"""Take the pictures of the documentation: each page of the app in both themes, over the bundled runs.

`make pictures` writes docs/images/NAME-{light,dark}.webp, of all pages or of those in ARGS. The viewer listens on
loopback; the browser is headless.
"""

import base64
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

from playwright.sync_api import Browser, ViewportSize, expect, sync_playwright
from tests import chromium

import rolloupe
from rolloupe.demo import RUNS
from rolloupe.query import SampleQuery

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs/images"
TINKER = ROOT / "tests/data/tinker/flat_run"
SIZE: ViewportSize = {"width": 1440, "height": 900}
QUALITY = 80
"""Of WebP, in per cent: text stays sharp, and a picture takes 30 to 100 kB."""


Theme = Literal["light", "dark"]
THEMES: tuple[Theme, ...] = ("light", "dark")


class Picture(NamedTuple):
    """One picture: its name, the address of the page, what must be visible, and keys pressed then.

    An address that begins with `REPORT` is of the report.
    """

    name: str
    address: str
    ready: str
    keys: tuple[str, ...] = ()


REPORT = "report.html"
SAMPLE = "article footer"
TINY = "runs/tiny_grpo?sample=train/64/00/0"
TOKENS = "runs/tiny_grpo?sample=train/57/00/3&view=tokens"
PICTURES = (
    Picture("rollouts", TINY, SAMPLE),
    Picture(
        "table", "runs/tiny_grpo?sample=train/64/00/0&mode=table&scope=run&sort=-reward", "ul[aria-label=Samples] a"
    ),
    Picture(
        "filter", "runs/tiny_grpo?split=train&step=64&mode=samples&where=reward+%3C+0.5", "ul[aria-label=Samples] a"
    ),
    Picture("group", f"{TINY}&view=group", "main section[aria-label]"),
    Picture("difference", "runs/tiny_grpo?sample=train/64/00/1&view=group&diff=1", "main ins, main del, main mark"),
    Picture("reference", "runs/gen_train_toy", SAMPLE),
    Picture("tokens", f"{TOKENS}&beside=train/57/00/7", "section[aria-label='The other sample'] [data-at]"),
    Picture("update", f"{TOKENS}&as=update&of=step", "[aria-labelledby=update-by-sample] a"),
    Picture("shared", f"{REPORT}#train%2F57%2F00%2F3", "nav[aria-label=Samples] button", ("t",)),
    Picture("discarded", "runs/tiny_grpo/discarded?split=train&step=89", "main h1"),
    Picture("findings", "runs/tiny_grpo/findings", "article section [data-part]"),
    Picture("evals", "runs/tiny_grpo/evals", "[role=grid] [role=gridcell]"),
    Picture("report", "runs/flat_run/report?split=eval/test&step=0", "main[aria-label=Report] h1"),
    Picture("metrics", "runs/tiny_grpo/metrics", "main [aria-label='Reward by step'] canvas"),
    Picture("run", "runs/tiny_grpo/run", "main summary"),
    Picture("problems", "runs/damaged/problems", "main h1"),
    Picture("search", "search?run=tiny_grpo&scope=run&q=wizard+doubles", "a[data-hit]"),
    Picture("runs", "", "main h1"),
    Picture("settings", "settings", "main h1"),
    Picture("palette", TINY, SAMPLE, ("Control+k",)),
)


def runs_in(folder: Path) -> Path:
    """Copy the runs that the pictures show: the bundled ones, one with reports, and one with damaged lines."""
    shutil.copytree(RUNS, folder)
    shutil.copytree(TINKER, folder / "flat_run")
    shutil.copytree(RUNS / "other_formats/relax", folder / "damaged")
    with (folder / "damaged/rollout_result/train/2.jsonl").open("ab") as file:
        file.write(b'{"prompt": "half a li\n{"prompt": 1, "reward": 1.2.3}\n')
    return folder


@contextmanager
def viewing(folder: Path, home: Path) -> Iterator[str]:
    """Run `rolloupe view` over a folder until the block ends; gives the address with its token."""
    options = ["--no-browser", "--port", "0", f"--index-dir={home}/index", f"--state-dir={home}/state"]
    command = [sys.executable, "-u", "-m", "rolloupe", "view", str(folder), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as viewer:
        assert viewer.stdout is not None
        yield next(match[0] for line in viewer.stdout if (match := re.search(r"http://\S+#token=\S+", line)))
        viewer.terminate()


def take(browser: Browser, link: str, home: Path, theme: Theme) -> None:
    """Take all pictures in one theme."""
    context = browser.new_context(viewport=SIZE, color_scheme=theme, reduced_motion="reduce")
    page = context.new_page()
    page.goto(link)
    expect(page.get_by_role("heading", level=1).first).to_be_attached()
    for picture in PICTURES:
        if sys.argv[1:] and picture.name not in sys.argv[1:]:
            continue
        is_report = picture.address.startswith(REPORT)
        page.goto((f"{home.as_uri()}/" if is_report else link.partition("#")[0]) + picture.address)
        expect(page.locator(picture.ready).first).to_be_visible()
        for key in picture.keys:
            page.keyboard.press(key)
        page.wait_for_timeout(2500)  # charts and previews come after the text
        options = {"format": "webp", "quality": QUALITY}
        data = context.new_cdp_session(page).send("Page.captureScreenshot", options)["data"]
        (IMAGES / f"{picture.name}-{theme}.webp").write_bytes(base64.b64decode(data))
    context.close()


def main() -> None:
    """Take all pictures."""
    expect.set_options(timeout=60_000)
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        home = Path(scratch)
        browser = playwright.chromium.launch(executable_path=chromium.find(), args=["--no-sandbox"])
        runs = runs_in(home / "runs")
        for run in rolloupe.open(runs, index_dir=home / "index"):
            run.wait(texts=True)
            if run.id == "tiny_grpo":
                run.report(home / REPORT, SampleQuery(splits=("train",), step_min=57, step_max=57, limit=24))
        with viewing(runs, home) as link:
            for theme in THEMES:
                take(browser, link, home, theme)
        browser.close()


if __name__ == "__main__":
    main()
