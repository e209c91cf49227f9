"""Time the view of tokens in headless Chromium, with samples of 32,768 and 131,072 tokens and five recorded series.

    python benchmarks/token_view.py

Prints milliseconds, for each size: from the press on Tokens until the tokens are painted, which the aim is about, and
how much of that comes after the answer, medians of several samples that nobody asked for before; from another choice of
colours until the frame that shows them; what the page does when the pointer comes to a token; and the gaps between
frames while it scrolls by 120 pixels a frame. In brackets is the processor time of the page's main thread, with the
frame: on a machine that does other things, too, it says more.

The last lines of each sample are those of a plain page in the same browser: one element for each token, with its
colour, and nothing else.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
from playwright.sync_api import Page, sync_playwright

from rolloupe.record import Recorder

CHROMIUM = os.environ.get("ROLLOUPE_CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-headless-shell"))), "chromium"
)
SIZES = (32_768, 131_072)
PRESS_AIMS_MS = {32_768: 300, 131_072: 600}
SAMPLES = 7
AIMS_MS = {"colours": 100, "pointer": 4, "frame gap": 50}
COLOURS = ("entropy", "logprobs", "importance_ratio", "advantages", "kl_k3")
LATER_MS = 1500
"""So long after a load nothing else is under way."""

PAINTED = """new Promise(done => requestAnimationFrame(() => setTimeout(done)))"""
OPEN = f"""async () => {{
  const view = [...document.querySelectorAll('main button')].find(one => one.textContent === 'Tokens');
  const began = performance.now();
  view.click();
  while (!document.querySelector('main [data-at]')) await new Promise(requestAnimationFrame);
  await {PAINTED};
  const asked = performance.getEntriesByType('resource').findLast(one => one.name.includes('sample/tokens'));
  return [performance.now() - began, performance.now() - asked.responseEnd];
}}"""
RECOLOUR = f"""async names => {{
  const times = [], field = document.querySelector('main select');
  for (const name of names) {{
    const began = performance.now();
    field.value = name;
    field.dispatchEvent(new Event('change', {{bubbles: true}}));
    await {PAINTED};
    times.push(performance.now() - began);
    await new Promise(done => setTimeout(done, 400));
  }}
  return times;
}}"""
POINT = f"""async () => {{
  const times = [], all = [...document.querySelectorAll('main [data-at]')].slice(0, 100);
  for (const one of all) {{
    const began = performance.now();
    one.dispatchEvent(new PointerEvent('pointerover', {{bubbles: true}}));
    await Promise.resolve();
    times.push(performance.now() - began);
    await {PAINTED};
  }}
  return times;
}}"""
SCROLL = """async () => {
  const gaps = [], pane = document.querySelector('[data-scroll=sample]');
  for (let last = performance.now(), frame = 0; frame < 300; frame += 1) {
    pane.scrollTop += 120;
    await new Promise(requestAnimationFrame);
    gaps.push(performance.now() - last);
    last = performance.now();
  }
  return gaps;
}"""
PLAIN = """<body style="margin:0">
<div data-scroll="sample" style="height:100vh;overflow:auto"><div style="width:900px;font:14px/22px monospace"></div>"""
PLAIN_OPEN = f"""async strings => {{
  const began = performance.now(), flow = document.querySelector('[data-scroll] > div');
  flow.style.whiteSpace = 'pre-wrap';
  for (const string of strings) {{
    const one = document.createElement('span');
    one.textContent = string;
    one.style.background = `hsl(${{one.textContent.length * 40}} 80% 90%)`;
    flow.append(one);
  }}
  await {PAINTED};
  return performance.now() - began;
}}"""
PLAIN_RECOLOUR = f"""async () => {{
  const times = [];
  for (let hue = 0; hue < 5; hue += 1) {{
    const began = performance.now();
    for (const one of document.querySelectorAll('span')) {{
      one.style.background = `hsl(${{hue * 60 + one.textContent.length * 10}} 80% 90%)`;
    }}
    await {PAINTED};
    times.push(performance.now() - began);
  }}
  return times;
}}"""


def strings_of(size: int) -> list[str]:
    """Short words and lines."""
    words = np.array([" the", " sum", " of", " angles", " is", " therefore", " 30", ",", ".", "\n"])
    return [str(word) for word in words[np.random.default_rng(1).integers(len(words), size=size)]]


def record(folder: Path) -> None:
    """A run with samples of each size."""
    random = np.random.default_rng(1)
    with Recorder(folder) as recorder:
        for size, number in product(SIZES, range(SAMPLES)):
            tokens = strings_of(size)
            logprobs = -random.exponential(0.4, size)
            series = {
                "logprobs": logprobs,
                "trainer_logprobs": logprobs + random.normal(0, 0.1, size),
                "ref_logprobs": logprobs + random.normal(0, 0.3, size),
                "entropy": random.exponential(0.5, size),
                "advantages": np.full(size, 1.5),
            }
            group = f"{size}-{number}"
            recorder.sample(step=0, group=group, prompt="p", response="".join(tokens), tokens=tokens, series=series)


def p95(times: list[float]) -> float:
    return float(np.quantile(times, 0.95))


class Thread:
    """The processor time of a page's main thread."""

    def __init__(self, page: Page) -> None:
        self._session = page.context.new_cdp_session(page)
        self._session.send("Performance.enable", {"timeDomain": "threadTicks"})
        self._last = 0.0

    def spent(self) -> float:
        """Return the milliseconds since the last call."""
        metrics = self._session.send("Performance.getMetrics")["metrics"]
        now = next(one["value"] for one in metrics if one["name"] == "TaskDuration") * 1000
        before, self._last = self._last, now
        return float(now - before)


def measure(page: Page, address: str, size: int) -> None:
    """Print the figures of a sample."""
    thread = Thread(page)
    opened, spent = [], []
    for number in range(SAMPLES):
        page.goto(f"{address}runs/run?sample=train/0/{size}-{number}/0")
        page.wait_for_selector("article footer")
        page.wait_for_timeout(LATER_MS)
        thread.spent()
        opened.append(page.evaluate(OPEN))
        spent.append(thread.spent())
        page.wait_for_timeout(LATER_MS)
    whole, painted = np.median(opened, axis=0)
    print(f"{size:,} tokens: {whole:.0f} ms from the press, {painted:.0f} ms of them after the answer", end=" ")
    print(f"({np.median(spent):.0f}), aim {PRESS_AIMS_MS[size]} ms from the press")
    for name, script, given in (("colours", RECOLOUR, COLOURS), ("pointer", POINT, ()), ("frame gap", SCROLL, ())):
        thread.spent()
        times = page.evaluate(script, list(given))
        print(f"  {name}: {p95(times):.1f} ms ({thread.spent() / len(times):.1f}), aim {AIMS_MS[name]}")


def measure_plain(page: Page, size: int) -> None:
    """Print the figures of a page with one element for each token."""
    thread = Thread(page)
    page.set_content(PLAIN)
    thread.spent()
    painted = page.evaluate(PLAIN_OPEN, strings_of(size))
    print(f"  one element for each token: painted {painted:.0f} ms ({thread.spent():.0f})")
    for name, script in (("colours", PLAIN_RECOLOUR), ("frame gap", SCROLL)):
        times = page.evaluate(script)
        print(f"    {name}: {p95(times):.1f} ms ({thread.spent() / len(times):.1f})")


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        record(folder / "run")
        command = [sys.executable, "-m", "rolloupe", "view", str(folder / "run"), "--no-browser", "--no-token"]
        places = ["--index-dir", str(folder / "index"), "--state-dir", str(folder / "state")]
        with subprocess.Popen([*command, *places], stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            try:
                address = server.stdout.readline().split()[3]
                browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
                for size in SIZES:
                    for figures in (partial(measure, address=address, size=size), partial(measure_plain, size=size)):
                        page = browser.new_page(viewport={"width": 1440, "height": 900})
                        figures(page)
                        page.close()
                browser.close()
            finally:
                server.terminate()


if __name__ == "__main__":
    main()
