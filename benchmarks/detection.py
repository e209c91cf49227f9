"""How long detection of runs takes, beside another version of Rolloupe.

    python benchmarks/detection.py RUN... --against CHECKOUT [--rounds 200]

Two processes that have looked at all runs once, one for each version, look at them again in turn, and count processor
time. The ratio is the median of the pairs, with their quartiles.
"""

import argparse
import os
import statistics
import subprocess
import sys
from pathlib import Path

READER = """
import sys, time
from pathlib import Path
from rolloupe.formats.discovery import discover

def look():
    began = time.process_time()
    for path in sys.argv[1:]:
        assert discover([Path(path)]).runs, path
    return time.process_time() - began

for _ in range(3):
    look()
print("ready", flush=True)
for _ in sys.stdin:
    print(look(), flush=True)
"""


class Reader:
    """A process of one version."""

    def __init__(self, checkout: Path, runs: list[Path]) -> None:
        command = [sys.executable, "-c", READER, *map(str, runs)]
        self._process = subprocess.Popen(
            command, env=os.environ | {"PYTHONPATH": str(checkout / "src")},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self._line()

    def look(self) -> float:
        """Look at all runs once; return how much processor time it took."""
        assert self._process.stdin
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return float(self._line())

    def end(self) -> None:
        """End the process."""
        self._process.communicate()

    def _line(self) -> str:
        assert self._process.stdout
        if not (line := self._process.stdout.readline()):
            sys.exit("a version could not detect one of the runs, see above")
        return line


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--against", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=200)
    given = parser.parse_args()
    here = Path(__file__).parents[1]
    then, now = (Reader(checkout.resolve(), given.runs) for checkout in (given.against, here))
    pairs = [(then.look(), now.look()) for _ in range(given.rounds)]
    then.end()
    now.end()
    low, ratio, high = statistics.quantiles([after / before for before, after in pairs], n=4)
    before_ms, after_ms = (statistics.median(one) * 1000 for one in zip(*pairs, strict=True))
    print(f"{len(given.runs)} runs, medians of {given.rounds} pairs: {before_ms:.1f} ms then, {after_ms:.1f} ms now")
    print(f"ratio {ratio:.2f} ({low:.2f} to {high:.2f})")


if __name__ == "__main__":
    main()
