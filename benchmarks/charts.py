"""Time the charts of many long runs over each other, and 24 charts of one run, in headless Chromium.

    python benchmarks/charts.py WORK_DIR [--runs 50] [--steps 5000] [--metrics 200] [--rounds 9] [--samples RUN]

Writes runs that logged so many metrics at so many steps (once; 50 runs take 1.2 GB and two minutes), and draws one
chart with all of them. "First" is the first look of all, which reads the logs and keeps their columns in the index.
"Draws" is from the address until the lines are drawn in a page of its own, with warm files. "Zoom" is from the end of a
drag until the chart shows the range; "smoothing" is from the slider until the chart shows the average. The pointer has
rested at both. "Zoom, last" and "smoothing, last" are the same until the last frame was painted that drew the chart
again within a second. With `--samples`, "24 first" and "24 charts" are as "first" and "draws" for a page of 24 charts
of that run, which has so many curves; `rolloupe index` has indexed it before. They count until those on the screen are
drawn; "24 zoom" and "24 smoothing" until the last frame.
Beside these stand the milliseconds that the server took for the request with the curves, the last part of the whole.
Medians, and the 95th percentile in brackets.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
from collections.abc import Callable
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, Page, sync_playwright

from page import CHROMIUM, REST_MS, p95, start
from rolloupe import Recorder

AIMS_MS = {
    "draws": 500, "zoom": 50, "zoom, last": 50, "smoothing": 50, "smoothing, last": 50,
    "24 charts": 450, "24 smoothing": 40, "24 zoom": 40,
}  # fmt: skip

CHARTS = 24

CHARTED = """count => {
  const charts = [...document.querySelectorAll("section [role=img]")];
  const seen = charts.filter(one => one.getBoundingClientRect().top < innerHeight);
  return charts.length >= count && seen.every(one => one.querySelector("canvas")?.width > 0);
}"""
"""True once all charts have their place, and those on the screen their lines."""

SERVED = """() => {
  const last = performance.getEntriesByType("resource").filter(one => one.name.endsWith("/api/curves")).at(-1);
  return last.responseStart - last.requestStart;
}"""


def write(folder: Path, runs: int, steps: int, metrics: int) -> None:
    """Write the runs that are not there yet."""
    names = [f"{'optim actor critic timing rollout'.split()[at % 5]}/metric_{at // 5}" for at in range(metrics)]
    for number in range(runs):
        run = folder / f"run{number:02d}"
        if (run / "done").exists():
            continue
        values = np.cumsum(np.random.default_rng(number).normal(size=(steps, metrics)), 0).round(4)
        with Recorder(run, code=None) as recorder:
            for step in range(steps):
                recorder.metrics(step, dict(zip(names, values[step].tolist(), strict=True)))
        (run / "done").touch()


def opened(browser: Browser, link: str, address: str, charts: int) -> tuple[Page, float]:
    """Open an address in a page of its own; returns it and the milliseconds until all is drawn."""
    page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    page.goto(link)
    page.wait_for_selector("main")
    page.goto("about:blank")  # the files of the page are there now, as they usually are
    began = time.perf_counter()
    page.goto(address)
    page.wait_for_function(CHARTED, arg=charts, polling="raf", timeout=600_000)
    took = (time.perf_counter() - began) * 1000
    page.evaluate(WATCH)
    return page, took


WATCH = """() => {
  window.began = 0;
  window.frames = [];
  for (const type of ["input", "mouseup"])
    addEventListener(type, () => { window.began = performance.now(); window.frames = []; }, true);
  const {clearRect} = CanvasRenderingContext2D.prototype;
  let isDrawn = false;
  CanvasRenderingContext2D.prototype.clearRect = function (...of) {
    if (!isDrawn) { // a frame that is being drawn is painted before the next task
      isDrawn = true;
      requestAnimationFrame(() => setTimeout(() => { isDrawn = false; window.frames.push(performance.now()); }));
    }
    return clearRect.apply(this, of);
  };
}
"""
REDRAWN = "() => [window.frames[0], window.frames.at(-1)].map(one => one - window.began)"


def changed(page: Page, change: Callable[[Page], None]) -> list[float]:
    """Change the page; returns the milliseconds from the event until the first and the last frame were painted."""
    page.wait_for_timeout(1000)
    change(page)
    page.wait_for_timeout(1000)
    took: list[float] = page.evaluate(REDRAWN)
    return took


def reach(page: Page) -> None:
    """Point at the slider, and rest there."""
    page.get_by_role("slider", name="Smoothing").hover()
    page.wait_for_timeout(REST_MS)


def slide(page: Page) -> None:
    """Choose another smoothing."""
    page.get_by_role("slider", name="Smoothing").press("ArrowRight")


def drag(page: Page) -> None:
    """Choose a range of steps in the chart."""
    box = page.locator(".u-over").first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 30)
    page.wait_for_timeout(REST_MS)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 30, steps=4)
    page.mouse.up()


CATALOGUE = """async ([run, count]) => {
  for (;;) {
    const {entries} = await (await fetch(`/api/runs/${run}/catalogue`)).json();
    const charts = entries.map(({kind, name, stat}) => "?" + new URLSearchParams({kind, name, stat}));
    if (charts.length >= count) return charts.slice(0, count);
    await new Promise(give => setTimeout(give, 500));
  }
}"""
"""The first charts of a run, once it has so many: derived metrics come last."""


def many_charts(
    browser: Browser, run: Path, rounds: int, took: dict[str, list[float]], note: Callable[[str, Page, float], None]
) -> None:
    """Draw 24 charts of a run with samples, in a page of its own each time; the run is indexed before."""
    with tempfile.TemporaryDirectory() as index:
        command = [sys.executable, "-m", "rolloupe", "index", str(run), "--index-dir", index]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        process, link = start(run, index)
        try:
            of = urllib.parse.urljoin(link, f"/runs/{run.name}/metrics")
            page, _ = opened(browser, link, of, 1)
            charts = page.evaluate(CATALOGUE, [run.name, CHARTS])
            page.context.close()
            address = f"{of}?{urllib.parse.urlencode({'chart': charts}, doseq=True)}"
            for number in range(rounds + 1):
                page, took_ms = opened(browser, link, address, len(charts))
                note("24 charts" if number else "24 first", page, took_ms)
                reach(page)
                for name, change in (("24 smoothing", slide), ("24 zoom", drag)):
                    took[name].append(changed(page, change)[1])
                page.context.close()
        finally:
            process.terminate()
            process.wait()


def main() -> None:
    """Print a line for each measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="WORK_DIR")
    for name, default in (("runs", 50), ("steps", 5000), ("metrics", 200), ("rounds", 9)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--samples", type=Path)
    args = parser.parse_args()
    write(args.folder, args.runs, args.steps, args.metrics)
    took: dict[str, list[float]] = {name: [] for name in ("first", "24 first", *AIMS_MS)}
    served: dict[str, list[float]] = {name: [] for name in took}

    def note(name: str, page: Page, took_ms: float) -> None:
        took[name].append(took_ms)
        served[name].append(page.evaluate(SERVED))

    arguments = ["--no-sandbox", "--disable-gpu"]
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as index:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        process, link = start(args.folder, index)
        others = "&".join(f"over=run{number:02d}" for number in range(1, args.runs))
        chart = urllib.parse.quote("trainer.optim/metric_0")
        address = urllib.parse.urljoin(link, f"/runs/run00/metrics?chart={chart}&{others}")
        try:
            for number in range(args.rounds + 1):
                page, drawn_ms = opened(browser, link, address, 1)
                note("draws" if number else "first", page, drawn_ms)
                reach(page)
                for name, change in (("smoothing", slide), ("zoom", drag)):
                    for each, took_ms in zip((name, f"{name}, last"), changed(page, change), strict=True):
                        took[each].append(took_ms)
                page.context.close()
        finally:
            process.terminate()
            process.wait()
        if args.samples:
            many_charts(browser, args.samples, args.rounds, took, note)
    for name, values in took.items():
        if values:
            middle, worst = statistics.median(values), p95(values)
            aim = AIMS_MS.get(name)
            words = "" if aim is None else f"  at most {aim} ms: {'reached' if worst <= aim else 'missed'}"
            server = f"   server {statistics.median(served[name]):6.0f} ms" if served[name] else " " * 19
            print(f"{name:16}{middle:8.0f} ms ({worst:.0f}){server}{words}")


if __name__ == "__main__":
    main()
