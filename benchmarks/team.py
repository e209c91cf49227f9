"""What 200 people wait for a team's server, with runs indexed before and while they are being indexed.

    python -m venv locust && locust/bin/pip install locust
    python benchmarks/team.py WORK_DIR --locust locust/bin/locust [--seconds 120] [--first]

Writes 20 runs of 20 steps with 256 samples of 4 kB (386 MB), serves them with a fresh index, and has
`benchmarks/team_load.py` ask; then once more with the index of the first time. Prints a table: requests and errors,
seconds by the clock, CPU of the server for each request, and the most memory that it and the workers took. `--first`
puts the server, but not the workers that index, and the people before all other work of the machine (as root).
"""

import argparse
import csv
import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
RUNS, STEPS, SAMPLES, SAMPLE_BYTES = 20, 20, 256, 4000
SETTLE_S = 3.0
READY_S = 600.0


def written(folder: Path) -> Path:
    """The runs; made once."""
    for number in range(1, RUNS + 1):
        place = folder / f"run{number}"
        if not place.exists():
            sizes = ("--steps", STEPS, "--samples", SAMPLES, "--bytes", SAMPLE_BYTES)
            part = folder / "part"
            shutil.rmtree(part, ignore_errors=True)
            subprocess.run([sys.executable, HERE / "generate.py", part, *map(str, sizes)], check=True)
            part.rename(place)
    return folder


class Server:
    """A running `rolloupe serve`."""

    def __init__(self, runs: Path, work: Path) -> None:
        access = work / "access.toml"
        access.write_text('everyone = "writer"\n')
        command = [
            sys.executable, "-m", "rolloupe", "serve", runs, "--listen", "127.0.0.1:0",
            "--users-from", "header:X-Forwarded-User", "--trusted-proxy", "127.0.0.1", "--access", access,
            "--index-dir", work / "index", "--state-dir", work / "state",
        ]  # fmt: skip
        self._process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE)
        self.pid = self._process.pid
        assert self._process.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:\d+", self._process.stdout.readline().decode())
        assert found is not None
        self.address = found[0]

    def runs(self) -> list[Any]:
        """The runs as the page lists them."""
        request = urllib.request.Request(f"{self.address}/api/runs", headers={"X-Forwarded-User": "root"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            found: list[Any] = json.load(answer)["runs"]
        return found

    def wait(self, *phases: str) -> None:
        """Wait until all runs are in one of these phases."""
        until = time.monotonic() + READY_S
        while len(runs := self.runs()) < RUNS or any(run["progress"]["phase"] not in phases for run in runs):
            if time.monotonic() > until:
                sys.exit(f"the index was not ready after {READY_S:.0f} s")
            time.sleep(0.5)

    def go_first(self) -> None:
        """Come before all other work of the machine; the workers stay behind."""
        subprocess.run(["chrt", "-a", "-r", "-p", "1", str(self.pid)], check=True)

    def workers(self) -> list[int]:
        """The processes that index."""
        of_threads = Path(f"/proc/{self.pid}/task").glob("*/children")
        return [int(pid) for children in of_threads for pid in children.read_text().split()]

    def cpu_s(self) -> float:
        """CPU time of the server itself."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.wait(30)


def peak_mb(pid: int) -> int:
    """The most memory that a process took."""
    found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) // 1000 if found else 0


class Waits(NamedTuple):
    """How long one kind of request took, in milliseconds."""

    name: str
    requests: int
    errors: int
    half: float
    most: float
    longest: float


def asked(server: Server, locust: str, work: Path, seconds: int, *, first: bool) -> list[Waits]:
    """Have 200 people ask the server."""
    command = [
        *(("chrt", "-r", "1") if first else ()), locust, "-f", HERE / "team_load.py", "--headless", "-u", 200, "-r", 40,
        "-t", f"{seconds}s", "--host", server.address, "--only-summary", "--csv", work / "waits",
    ]  # fmt: skip
    with (work / "locust.log").open("w") as log:
        subprocess.run(list(map(str, command)), stdout=log, stderr=log, check=False)
    with (work / "waits_stats.csv").open() as file:
        return [
            Waits(
                row["Name"], int(row["Request Count"]), int(row["Failure Count"]), float(row["50%"] or 0),
                float(row["99%"] or 0), float(row["Max Response Time"]),
            )
            for row in csv.DictReader(file)
        ]  # fmt: skip


def main() -> None:
    """Measure both, and print them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("--runs", type=Path, help="20 runs that are there already")
    parser.add_argument("--locust", default="locust")
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--first", action="store_true")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    runs = args.runs or written(args.work / "runs")
    for name in ("index", "state"):
        shutil.rmtree(args.work / name, ignore_errors=True)
    for variant in ("indexed meanwhile", "indexed before"):
        server = Server(runs.resolve(), args.work.resolve())
        try:
            server.wait(*(("scalars", "text", "ready") if variant == "indexed meanwhile" else ("ready",)))
            time.sleep(SETTLE_S)  # the workers have begun
            if args.first:
                server.go_first()
            began_s, began_load = server.cpu_s(), os.getloadavg()[0]
            waits = asked(server, args.locust, args.work, args.seconds, first=args.first)
            used_s, phases = server.cpu_s() - began_s, {run["progress"]["phase"] for run in server.runs()}
            print(f"\n{variant} (load {began_load:.1f} to {os.getloadavg()[0]:.1f}; at the end {', '.join(phases)})")
            print(f"{'':20}{'requests':>9}{'errors':>8}{'median':>9}{'99 %':>9}{'longest':>9}  ms")
            for one in waits:
                print(f"{one.name:20}{one.requests:9}{one.errors:8}{one.half:9.0f}{one.most:9.0f}{one.longest:9.0f}")
            memory = ", ".join(f"{peak_mb(pid)}" for pid in (server.pid, *server.workers()))
            print(f"CPU of the server {used_s:.0f} s, {1000 * used_s / max(1, waits[-1].requests):.1f} ms a request")
            print(f"memory at most, of the server and each worker: {memory} MB", flush=True)
            if variant == "indexed meanwhile":
                server.wait("ready")
        finally:
            server.end()


if __name__ == "__main__":
    main()
