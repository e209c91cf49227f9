"""The rate of an index on a Ray cluster: beside two processes on the same cores, and of two nodes beside one.

    python benchmarks/generate.py RUN --steps 60 --samples 1000 --bytes 8000
    build/scale/bin/python -m benchmarks.ray_nodes RUN [--rounds 5]

`make build/scale/.made` makes that environment. The cluster has two nodes with a core each, in a network of its own.
Numbers, texts, derived metrics and findings; processes start anew each time. Prints seconds, and ratios with limits.
"""

import argparse
import json
import statistics
import tempfile
from pathlib import Path

from tests.scale.namespaces import alone

OF_PROCESSES, OF_ONE_NODE = 0.9, 1.6


def rates(run: Path, rounds: int) -> list[list[float]]:
    """The seconds of two processes, two nodes and one node, for each round."""
    with tempfile.TemporaryDirectory() as folder, alone("tests.scale.ray_cluster") as process:
        assert process.stdin and process.stdout and process.stdout.readline() == "ready\n", "no cluster began"
        print(json.dumps(["rates", str(run), folder, str(rounds)]), file=process.stdin, flush=True)
        reply = json.loads(process.stdout.readline())
        process.stdin.close()
        process.wait(60)
    assert "error" not in reply, reply["error"]
    answer: list[list[float]] = reply["answer"]
    return answer


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    found = rates(given.run.resolve(), given.rounds)
    for of_round in found:
        print("two processes {:6.1f} s   two nodes {:6.1f} s   one node {:6.1f} s".format(*of_round))
    for what, which, limit in (("two processes", 0, OF_PROCESSES), ("one node", 2, OF_ONE_NODE)):
        ratios = [of_round[which] / of_round[1] for of_round in found]
        median = statistics.median(ratios)
        told = "reached" if median >= limit else "MISSED"
        print(f"two nodes, to {what}: {median:.2f} ({min(ratios):.2f} to {max(ratios):.2f}); {limit} asked: {told}")


if __name__ == "__main__":
    main()
