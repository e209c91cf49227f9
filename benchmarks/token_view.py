"""Time the view of tokens in headless Chromium, with samples of 32,768 and 131,072 tokens and five recorded series.

    python benchmarks/token_view.py

Prints milliseconds, for each sample: from the press on Tokens until the tokens are painted, with and without what the
server takes; from another choice of colours until the frame that shows them; what the page does when the pointer comes
to a token; and the gaps between frames while it scrolls by 120 pixels a frame. In brackets is the processor time of the
page's main thread, with the frame: on a machine that does other things, too, it says more.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from playwright.sync_api import Page, sync_playwright

from rolloupe.record import Recorder

CHROMIUM = os.environ.get("ROLLOUPE_CHROMIUM", "/usr/bin/chromium")
SIZES = (32_768, 131_072)
PAINT_AIMS_MS = {32_768: 300, 131_072: 600}
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


def record(folder: Path) -> None:
    """A run with a sample of each size, of short words and lines."""
    random = np.random.default_rng(1)
    words = np.array([" the", " sum", " of", " angles", " is", " therefore", " 30", ",", ".", "\n"])
    with Recorder(folder) as recorder:
        for size in SIZES:
            tokens = words[random.integers(len(words), size=size)].tolist()
            logprobs = -random.exponential(0.4, size)
            series = {
                "logprobs": logprobs,
                "trainer_logprobs": logprobs + random.normal(0, 0.1, size),
                "ref_logprobs": logprobs + random.normal(0, 0.3, size),
                "entropy": random.exponential(0.5, size),
                "advantages": np.full(size, 1.5),
            }
            recorder.sample(step=0, group=size, prompt="p", response="".join(tokens), tokens=tokens, series=series)


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
    page.goto(f"{address}runs/run?sample=train/0/{size}/0")
    page.wait_for_selector("article footer")
    page.wait_for_timeout(LATER_MS)
    thread.spent()
    whole, painted = page.evaluate(OPEN)
    print(f"{size:,} tokens: painted {whole:.0f} ms after the press, {painted:.0f} ms after the answer", end=" ")
    print(f"({thread.spent():.0f}), aim {PAINT_AIMS_MS[size]}")
    page.wait_for_timeout(LATER_MS)
    for name, script, given in (("colours", RECOLOUR, COLOURS), ("pointer", POINT, ()), ("frame gap", SCROLL, ())):
        thread.spent()
        times = page.evaluate(script, list(given))
        print(f"  {name}: {p95(times):.1f} ms ({thread.spent() / len(times):.1f}), aim {AIMS_MS[name]}")


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        record(folder / "run")
        command = [sys.executable, "-m", "rolloupe", "view", str(folder / "run"), "--no-browser", "--no-token"]
        places = ["--index-dir", str(folder / "index"), "--state-dir", str(folder / "state")]
        with subprocess.Popen([*command, *places], stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            address = server.stdout.readline().split()[3]
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            for size in SIZES:
                page = browser.new_page(viewport={"width": 1440, "height": 900})
                measure(page, address, size)
                page.close()
            browser.close()
            server.terminate()


if __name__ == "__main__":
    main()
