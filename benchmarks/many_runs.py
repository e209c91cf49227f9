"""How long a folder with many small runs takes to open, to list and to draw, and what it costs at rest.

    python benchmarks/many_runs.py WORK_DIR [--runs 1000 10000] [--browser /usr/bin/chromium]

Records a few runs of 2 steps with 4 samples each, and copies them. Then serves all of them in a process of its own:
at first without an index, then with it. Prints seconds, bytes and CPU for each count of runs; per 1,000 runs, so that
what grows faster than their number shows. `--browser` also draws the page, finds a run by its name and opens it.
"""

import argparse
import gzip
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import rolloupe

RECORDED = 8
READY_S = 900.0
REST_S = 20.0
SETTLE_S = 70.0


def written(folder: Path, runs: int) -> Path:
    """A folder with so many runs; made once."""
    if folder.exists() and len(os.listdir(folder)) == runs:
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    for number in range(runs):
        place = folder / f"run-{number:05}"
        if number >= RECORDED:
            shutil.copytree(folder / f"run-{number % RECORDED:05}", place)
            continue
        config = {"lr": 10.0 ** -(number % 5), "seed": number}
        with rolloupe.Recorder(place, config=config, reward_range=(0, 1), code=None) as recorder:
            for step in range(2):
                for index in range(4):
                    recorder.sample(
                        step=step,
                        group=index // 2,
                        prompt="2+2?",
                        response=f"It is {index}.",
                        reward=index / (4 + number),
                    )
                recorder.metrics(step, {"loss": 1 / (step + 1)})
                recorder.step_end(step)
    return folder


class Served:
    """A server of a folder, in a process of its own."""

    def __init__(self, folder: Path, index: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._process = subprocess.Popen(
            [
                sys.executable, "-m", "rolloupe", "view", str(folder), "--port", str(self.port), "--no-browser",
                "--no-token", "--index-dir", str(index), "--state-dir", str(index / "state"),
            ],
            stdout=subprocess.DEVNULL,
        )  # fmt: skip

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self.port}"

    def get(self, path: str) -> bytes:
        """An answer, as it comes over the line; waits until the server is there."""
        request = urllib.request.Request(self.url + path, headers={"Accept-Encoding": "gzip"})
        until = time.monotonic() + READY_S
        while True:
            try:
                with urllib.request.urlopen(request, timeout=READY_S) as reply:
                    return bytes(reply.read())
            except OSError:
                if time.monotonic() > until or self._process.poll() is not None:
                    raise
                time.sleep(0.05)

    def runs(self) -> tuple[float, int, int, list[dict[str, Any]]]:
        """The list of the runs: seconds, bytes on the line, bytes of JSON, and what it says."""
        began = time.monotonic()
        sent = self.get("/api/runs")
        took = time.monotonic() - began
        text = gunzipped(sent)
        return took, len(sent), len(text), json.loads(text)["runs"]

    def cpu_s(self) -> float:
        """The CPU seconds of the server and of its workers."""
        return sum(map(_cpu_of, _family(self._process.pid)))

    def memory_mb(self) -> float:
        """The memory of the server itself."""
        for line in Path(f"/proc/{self._process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) / 1024
        return 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(60)


def gunzipped(sent: bytes) -> bytes:
    """An answer without its compression."""
    return gzip.decompress(sent) if sent[:2] == b"\x1f\x8b" else sent


def _family(pid: int) -> list[int]:
    found = [pid]
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            found += _family(int(child))
    return found


def _cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def until(server: Served, runs: int, is_ready: bool) -> None:
    """Wait until so many runs are in the list, and indexed if that is asked for."""
    while True:
        found = server.runs()[3]
        if len(found) >= runs and not (is_ready and any(run["progress"]["phase"] != "ready" for run in found)):
            return
        time.sleep(1)


def drawn(url: str, browser: str, runs: int) -> dict[str, float]:
    """Draw the page, find a run by its name, and open it: seconds of each."""
    from playwright.sync_api import sync_playwright

    name = f"run-{runs // 2:05}"
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox", "--disable-gpu"])
        page = chromium.new_page()
        times = {}
        began = time.monotonic()
        page.goto(url)
        page.wait_for_selector("[data-row='0'] a", timeout=120_000)
        times["page drawn"] = time.monotonic() - began
        began = time.monotonic()
        page.fill("#find-run", name)
        page.wait_for_selector(f"[data-row='0'] a:has-text('{name}')", timeout=60_000)
        times["a run found"] = time.monotonic() - began
        began = time.monotonic()
        page.press("#find-run", "Enter")
        page.wait_for_selector("text=It is", timeout=60_000)
        times["the run open"] = time.monotonic() - began
        chromium.close()
    return times


def measured(work: Path, runs: int, browser: str | None) -> Iterator[tuple[str, float]]:
    """Everything, for so many runs."""
    folder, index = written(work / f"runs-{runs}", runs), work / f"index-{runs}"
    for again in (False, True):
        if again or not index.exists():
            with Served(folder, index) as server:
                yield from opened(server, runs, "with an index" if again else "without")
                if again:
                    yield from kept(server, browser, runs)


def opened(server: Served, runs: int, how: str) -> Iterator[tuple[str, float]]:
    """From the start until the list is complete, and all runs are indexed."""
    began = time.monotonic()
    for what, count, is_ready in (("first runs", 1, False), ("all runs", runs, False), ("all indexed", runs, True)):
        until(server, count, is_ready)
        yield f"{what}, {how}, s", time.monotonic() - began
        yield f"{what}, {how}, CPU s", server.cpu_s()


def kept(server: Served, browser: str | None, runs: int) -> Iterator[tuple[str, float]]:
    """What the list costs from then on."""
    _, sent, size, _ = server.runs()
    yield "list again, s", min(server.runs()[0] for _ in range(5))
    yield "list on the line, MB", sent / 1e6
    yield "list, MB of JSON", size / 1e6
    for what in ("configurations", "configurations again"):
        began = time.monotonic()
        left = json.loads(gunzipped(server.get("/api/configs")))["left"]
        yield f"{what}, s", time.monotonic() - began
        yield f"{what}, runs left", left
    yield "memory, MB", server.memory_mb()
    time.sleep(SETTLE_S)
    before = server.cpu_s()
    time.sleep(REST_S)
    yield "at rest, share of a core", (server.cpu_s() - before) / REST_S
    if browser:
        yield from ((f"{what}, s", took) for what, took in drawn(server.url, browser, runs).items())


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("--runs", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--browser")
    options = parser.parse_args()
    for runs in options.runs:
        print(f"{runs:,} runs")
        for what, value in measured(options.work, runs, options.browser):
            print(f"  {what:36} {value:10.3f}", flush=True)


if __name__ == "__main__":
    main()
