"""Time a run in an object store behind a delay: first sample, next sample, next step, and the rate of its index.

    python benchmarks/generate.py /tmp/run --steps 500 --samples 512 --bytes 8000
    python benchmarks/remote.py /tmp/run [--delay-ms 30] [--rounds 3]

Uploads the run to a server of S3 on loopback (moto, in a process of its own). In front of it stands a proxy, in another
process, that holds back every connection and all that a client sends for so long. The page is measured as
`benchmarks/page.py` does. The rate is that of one process that indexes numbers, as a ratio to that of the same files on
this disk: of the server itself, and behind the delay. First samples and the index of the same files on this disk are
measured in turn with them. Prints the limits, and whether each was met.
"""

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

BLOCK = 2**16
BUCKET = "benchmark"
FIRST_S, SAMPLE_S, STEP_S, RATIO = 3.0, 0.15, 0.4, 0.6
SCANNED_FILES = 24


async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, target_port: int, delay_s: float) -> None:
    """Pass a connection on: what the client sends later, what the server answers at once."""
    await asyncio.sleep(delay_s)
    far_reader, far_writer = await asyncio.open_connection("127.0.0.1", target_port)

    async def ask() -> None:
        while data := await reader.read(BLOCK):
            await asyncio.sleep(delay_s)
            far_writer.write(data)
            await far_writer.drain()
        far_writer.close()

    async def answer() -> None:
        while data := await far_reader.read(16 * BLOCK):
            writer.write(data)
            await writer.drain()
        writer.close()

    await asyncio.gather(ask(), answer(), return_exceptions=True)


async def proxy(target_port: int, delay_ms: float) -> None:
    """Serve on a free port of loopback, and print it."""
    server = await asyncio.start_server(
        lambda reader, writer: forward(reader, writer, target_port, delay_ms / 1000), "127.0.0.1", 0
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def delayed(address: str, delay_ms: float) -> Iterator[str]:
    """The address of a server behind a delay."""
    words = [sys.executable, __file__, "--proxy", address.rpartition(":")[2], "--delay-ms", str(delay_ms)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.kill()
        process.wait()


def scan_rate(place: str) -> float:
    """Index the numbers of some files of a run in one process, which has begun; returns MB/s."""
    from rolloupe.formats import discover
    from rolloupe.formats.registry import by_name
    from rolloupe.index.execution import ProcessExecutor, ScanJob
    from rolloupe.storage import path_state

    (run,) = discover([Path(place)]).runs
    sources = by_name(run.format).sources(run)[-SCANNED_FILES - 1 :]
    executor = ProcessExecutor(1)
    with tempfile.TemporaryDirectory() as folder:
        jobs = [ScanJob(folder=folder, run=run, source=source, part=0) for source in sources]
        try:
            assert executor.submit(jobs[0]).result().meta.rows
            began = time.perf_counter()
            replies = [executor.submit(job) for job in jobs[1:]]
            assert all(reply.result().meta.rows for reply in replies)
            took = time.perf_counter() - began
        finally:
            executor.close()
    return sum(path_state(source.path).st_size for source in sources[1:]) / 1e6 / took


def rates(run: Path, endpoint: str, rounds: int) -> tuple[float, list[float]]:
    """The local rate and the ratios to it, in turn, each in a process of its own."""
    local, ratios = [], []
    for _ in range(rounds):
        for place in (str(run), f"s3://{BUCKET}/run"):
            words = [sys.executable, __file__, "--rate", place]
            done = subprocess.run(
                words, capture_output=True, text=True, check=True, env=os.environ | {"AWS_ENDPOINT_URL": endpoint}
            )
            (local if place == str(run) else ratios).append(float(done.stdout))
    return statistics.median(local), [far / near for near, far in zip(local, ratios, strict=True)]


def presses(page: Any, place: str, rounds: int) -> tuple[list[float], list[float]]:
    """Press keys for the next sample and the step before, while the run is being indexed for the first time."""
    from benchmarks import page as pages

    with tempfile.TemporaryDirectory() as folder:
        process, link = pages.start(place, folder)
        try:
            page.goto(link)
            pages.wait_shown(page)
            page.evaluate(pages.WATCH)
            samples = [pages.pressed(page, "ArrowRight") for _ in range(rounds)]
            return samples, [pages.pressed(page, "[") for _ in range(rounds)]
        finally:
            process.terminate()
            process.wait()


def measure(run: Path, delay_ms: float, rounds: int) -> None:
    """Print all figures, and the limits."""
    from benchmarks import page as pages
    from playwright.sync_api import sync_playwright
    from tests.storage.remote import s3

    os.environ.update(s3.KEYS, MOTO_S3_DEFAULT_KEY_BUFFER_SIZE="65536")
    with s3.serving() as address, delayed(address, delay_ms) as far_address:
        bucket = s3.created(BUCKET, address)
        bucket.upload(run, "run")
        local, near = rates(run, address, rounds)
        _, far = rates(run, far_address, rounds)
        os.environ["AWS_ENDPOINT_URL"] = far_address
        place = f"s3://{BUCKET}/run"
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=pages.CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
            page = browser.new_page()
            firsts, local_firsts = [], []
            for _ in range(rounds):
                firsts.append(pages.first_sample(page, place)[0])
                local_firsts.append(pages.first_sample(page, run)[0])
            samples, steps = presses(page, place, rounds * 5)
            browser.close()
    local_first = statistics.median(local_firsts)
    print(f"on this disk: first sample {local_first:.3f} s, scan {local:.0f} MB/s; load {os.getloadavg()[0]:.1f}")
    for what, values, limit in (
        ("first sample, s", firsts, FIRST_S),
        ("next sample, s", samples, SAMPLE_S),
        ("next step, s", steps, STEP_S),
    ):
        middle = statistics.median(values)
        print(f"{what:38}{middle:6.3f} ({max(values):.3f}) at most {limit}: {'met' if middle <= limit else 'missed'}")
    for what, values in (("rate of the server itself, ratio", near), (f"rate behind {delay_ms:g} ms, ratio", far)):
        middle = statistics.median(values)
        print(f"{what:38}{middle:6.2f} ({min(values):.2f}) at least {RATIO}: {'met' if middle >= RATIO else 'missed'}")


def main() -> None:
    """Measure, or be one of the processes that this takes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, nargs="?")
    parser.add_argument("--delay-ms", type=float, default=30.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--proxy", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--rate", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.proxy:
        asyncio.run(proxy(args.proxy, args.delay_ms))
    elif args.rate:
        print(scan_rate(args.rate))
    elif args.run is None:
        parser.error("name a run")
    else:
        measure(args.run, args.delay_ms, args.rounds)


if __name__ == "__main__":
    main()
