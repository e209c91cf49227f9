"""How quickly the terminal shows a run, through a pseudo-terminal: `python -m benchmarks.terminal RUN`.

Prints the seconds from the shell to the first sample, for the next sample and for another step, and the memory, also
after a search. With `--cold` each start has no index, and the keys are pressed while it is made; without, the first
start makes it and does not count. A run of 10,000 files:

    python benchmarks/generate.py RUN --steps 10000 --samples 8 --bytes 800
"""

import argparse
import fcntl
import json
import os
import pty
import re
import select
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable

import pyte

COLUMNS, LINES = 120, 36


class Screen:
    """A process behind a pseudo-terminal, and what its screen shows."""

    def __init__(self, command: list[str], columns: int = COLUMNS, lines: int = LINES) -> None:
        self.began = time.perf_counter()
        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:
            own = "PYTHONDONTWRITEBYTECODE", "COLUMNS", "LINES"  # people run it without, and the screen has a size
            kept = {name: value for name, value in os.environ.items() if name not in own}
            os.execve(command[0], command, {**kept, "TERM": "xterm-256color", "COLORTERM": "truecolor"})
        fcntl.ioctl(self.descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.screen = pyte.Screen(columns, lines)
        self.stream = pyte.ByteStream(self.screen)
        self.written = b""

    @property
    def text(self) -> str:
        return "\n".join(self.screen.display)

    def read(self, timeout_s: float) -> bool:
        if not select.select([self.descriptor], [], [], timeout_s)[0]:
            return False
        try:
            data = os.read(self.descriptor, 65536)
        except OSError:
            return False
        self.written += data
        self.stream.feed(re.sub(rb"\x1b\[[<>=][0-9;]*[a-zA-Z]|\x1bP[^\x1b]*\x1b\\", b"", data))
        return True

    def until(self, is_shown: Callable[[str], object], timeout_s: float = 30.0) -> float:
        """Read until the screen shows something; returns the seconds since the call."""
        began = time.perf_counter()
        while not is_shown(self.text):
            if time.perf_counter() - began > timeout_s:
                raise TimeoutError(self.text)
            self.read(0.02)
        return time.perf_counter() - began

    def press(self, keys: str) -> None:
        os.write(self.descriptor, keys.encode())

    def memory_mb(self) -> float:
        with open(f"/proc/{self.pid}/status") as file:
            return int(re.search(r"VmHWM:\s+(\d+)", file.read())[1]) / 1024  # type: ignore[pyrefly:unsupported-operation]

    def wait(self) -> int:
        """Read until the process ends; returns its exit code."""
        while self.pid:
            self.read(0.02)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.pid = 0
                return os.waitstatus_to_exitcode(status)
        return 0

    def close(self) -> None:
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.descriptor)


def position(text: str) -> str:
    found = re.search(r"Sample ([\d,]+) of", text)
    return found[1] if found else ""


def step(text: str) -> str:
    found = re.search(r" step\s+(\d+)", text)
    return found[1] if found else ""


def differs(shown: Callable[[str], str], before: str) -> Callable[[str], bool]:
    return lambda text: shown(text) not in ("", before)


def measure(run: str, index_dir: str, keys: int) -> dict[str, float]:
    places = ["--index-dir", index_dir, "--state-dir", f"{index_dir}/state"]
    screen = Screen([sys.executable, "-m", "rolloupe", "tui", run, *places])
    try:
        screen.until(position)
        first_s = time.perf_counter() - screen.began
        screen.until(lambda text: "/ " in text.partition("\n")[0])
        times: dict[str, list[float]] = {"n": [], "P": []}
        for key, shown in (("n", position), ("P", step)):
            for _ in range(keys):
                before = shown(screen.text)
                while screen.read(0.1):
                    pass
                began = time.perf_counter()
                screen.press(key)
                screen.until(differs(shown, before))
                times[key].append(time.perf_counter() - began)
        memory_mb = screen.memory_mb()
        screen.press("/answer\r")
        screen.until(lambda text: re.search(r"\d samples?\b(?!  searched)", text), 120)
        return {
            "first_s": first_s,
            "next_median_s": statistics.median(times["n"]),
            "next_most_s": max(times["n"]),
            "step_median_s": statistics.median(times["P"]),
            "step_most_s": max(times["P"]),
            "memory_mb": memory_mb,
            "memory_after_search_mb": screen.memory_mb(),
        }
    finally:
        screen.close()


def indexed(run: str, index_dir: str) -> None:
    """Make the index."""
    subprocess.run([sys.executable, "-m", "rolloupe", "index", run, "--index-dir", index_dir], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run")
    parser.add_argument("--index-dir", help="default: a new folder")
    parser.add_argument("--cold", action="store_true", help="begin each time without an index")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--keys", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        kept = options.index_dir or f"{folder}/kept"
        if not options.cold:
            indexed(options.run, kept)
        for nth in range(options.times):
            measured = measure(options.run, f"{folder}/{nth}" if options.cold else kept, options.keys)
            print(json.dumps({name: round(value, 4) for name, value in measured.items()}), flush=True)


if __name__ == "__main__":
    main()
