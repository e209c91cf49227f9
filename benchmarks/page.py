"""Time the page in headless Chromium: first sample of a never-seen run, next sample, next step; memory of the server.

    python benchmarks/generate.py /tmp/run --steps 100 --samples 512 --bytes 8000
    python benchmarks/page.py /tmp/run --rounds 9

Prints medians in milliseconds, and 95th percentiles. "First sample" is from the start of `rolloupe view`, Python's own
start included, until the sample is drawn in a browser that is already open; the others, from the key event until the
frame that shows the other sample to its end was painted, are measured by the page itself: once with rests between the
presses, once with the key held down (30 times a second).
"List" is what the list of a step takes on the wire, "idle" how many requests leave the page in ten seconds in which
nobody does anything. With `--index-dir` the runs are indexed there already, and no first sample is measured.
"""

import argparse
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Page, Response, sync_playwright

CHROMIUM = os.environ.get("ROLLOUPE_CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-headless-shell"))), "chromium"
)
LIST = r"/(groups|samples)\?"
READY = "fetch('api/runs').then(got => got.json()).then(({runs}) => runs.every(run => run.progress.phase === 'ready'))"
SHOWN = """before => {
  const id = new URLSearchParams(location.search).get("sample");
  const main = document.querySelector("main[aria-label=Sample]");
  const isDrawn = main !== null && main.querySelector("article footer") !== null;
  return isDrawn && id !== null && id !== before && main.innerText.includes(id);
}"""
"""True once the sample that the address names is drawn to its end, and is another one than before."""


WATCH = """
window.took = [];
addEventListener("keydown", event => {
  const title = () => document.querySelector("main[aria-label=Sample] header button")?.textContent;
  const before = title();
  const look = () => {
    const isDrawn = ![before, undefined].includes(title()) && document.querySelector("article footer") !== null;
    if (isDrawn) setTimeout(() => window.took.push(performance.now() - event.timeStamp));
    else if (performance.now() - event.timeStamp < 5000) requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}, true);
"""
"""The page notes how long each key took, until after the frame that shows what it led to."""

AIMS_MS = {"next sample": 20, "next step": 50, "key held": 20}
"""What the 95th percentiles are to be at most."""

REST_MS = 300
HELD_MS = 33


def start(run: Path, index: str) -> tuple[subprocess.Popen[str], str]:
    """Start a server; returns it and the link that it prints."""
    command = [sys.executable, "-m", "rolloupe", "view", str(run), "--no-browser", "--no-token", "--index-dir", index]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if match := re.search(r"http://\S+", line):
            return process, match[0]
    raise SystemExit("rolloupe view ended")


def peak_mb(pid: int) -> float:
    """Peak resident memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024


def wait_shown(page: Page, before: str = "") -> None:
    page.wait_for_function(SHOWN, arg=before, polling="raf", timeout=60_000)


def first_sample(page: Page, run: Path) -> tuple[float, float]:
    """Seconds to the first sample of a run that was never indexed, and the server's peak memory until it is."""
    with tempfile.TemporaryDirectory() as index:
        began = time.perf_counter()
        process, link = start(run, index)
        try:
            page.goto(link)
            wait_shown(page)
            took = time.perf_counter() - began
            time.sleep(8)
            return took, peak_mb(process.pid)
        finally:
            process.terminate()
            process.wait()


class Pressed(NamedTuple):
    """Seconds from the key to the sample, by what was pressed; bytes of a list; requests while nothing was done."""

    samples: list[float]
    steps: list[float]
    held: list[float]
    list_bytes: int
    idle: int


def presses(page: Page, run: Path, rounds: int, index: Path | None) -> Pressed:
    """Press keys in a page whose run is indexed: first for the next sample, then for the step before."""
    with tempfile.TemporaryDirectory() as folder:
        process, link = start(run, str(index or folder))
        try:
            page.goto(link)
            wait_shown(page)
            while not page.evaluate(READY):
                time.sleep(1)
            time.sleep(3)
            page.evaluate(WATCH)
            samples = [pressed(page, "ArrowRight") for _ in range(rounds)]
            sizes: list[int] = []
            page.on("response", lambda got: sizes.append(size_of(got)) if re.search(LIST, got.url) else None)
            steps = [pressed(page, "[") for _ in range(rounds)]
            held = [pressed(page, "ArrowRight", HELD_MS) for _ in range(3 * rounds)]
            page.keyboard.up("ArrowRight")
            time.sleep(2)
            asked: list[str] = []
            page.on("request", lambda request: asked.append(request.url))
            page.wait_for_timeout(10_000)
            return Pressed(samples, steps, held, max(sizes, default=0), len(asked))
        finally:
            process.terminate()
            process.wait()


def size_of(got: Response) -> int:
    """Bytes of an answer on the wire."""
    sizes = got.request.sizes()
    return sizes["responseBodySize"] + sizes["responseHeadersSize"]


def pressed(page: Page, key: str, rest_ms: int = REST_MS) -> float:
    """Press a key and wait until another sample is drawn; returns the seconds that the page counted."""
    count = page.evaluate("window.took.length")
    page.keyboard.down(key)
    if rest_ms == REST_MS:
        page.keyboard.up(key)
    page.wait_for_function("count => window.took.length > count", arg=count, polling=5, timeout=60_000)
    took = page.evaluate("window.took.at(-1)")
    page.wait_for_timeout(rest_ms)
    return took / 1000


def p95(times: list[float]) -> float:
    """The 95th percentile: of few times the worst."""
    return sorted(times)[math.ceil(0.95 * len(times)) - 1]


def main() -> None:
    """Print the medians, a line a run; the first sample is measured in turn, so that all runs meet the same machine."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--index-dir", type=Path)
    args = parser.parse_args()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        rounds = 0 if args.index_dir else args.rounds
        firsts = [{run: first_sample(page, run) for run in args.runs} for _ in range(rounds)]
        pressed_of = {run: presses(page, run, args.rounds, args.index_dir) for run in args.runs}
        browser.close()
    print(
        "run                   first sample (p95)       next sample (p95)         next step (p95)        key held (p95)"
        "      list  idle  peak"
    )
    for run in args.runs:
        own = pressed_of[run]
        took = [one[run][0] for one in firsts] or [math.nan]
        taken = [
            (statistics.median(times) * 1000, p95(times) * 1000) for times in (took, own.samples, own.steps, own.held)
        ]
        cells = "".join(f"{middle:11.0f} ms ({worst:5.0f} ms)" for middle, worst in taken)
        peak = max((one[run][1] for one in firsts), default=math.nan)
        print(f"{run.name:14}{cells}{own.list_bytes / 1000:7.0f} kB{own.idle:6}{peak:5.0f} MB")
        for (name, aim), (_, worst) in zip(AIMS_MS.items(), taken[1:], strict=True):
            print(f"  {name}: at most {aim} ms at the 95th percentile: {'reached' if worst <= aim else 'missed'}")


if __name__ == "__main__":
    main()
