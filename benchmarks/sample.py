"""How long one sample of 3 MB takes, from the request to its last byte, against parsing its line with `json`.

    python benchmarks/sample.py WORK_DIR

The line has 24,000 tokens with six arrays of numbers, in RLLoggingBoard's keys. The server is `rolloupe view` on the
same machine; the request carries the token, and asks for no compression, as a browser on the same machine need not.
"""

import argparse
import http.client
import json
import random
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import quote

import rolloupe

TOKENS = 24_000
SAMPLES = 16
ARRAYS = ("logprobs", "ref_logprobs", "values", "token_rewards", "advantages", "entropy")


def written(folder: Path) -> Path:
    """A run of samples of about 3 MB each; made once."""
    if not folder.is_dir():
        folder.mkdir(parents=True)
        rng = random.Random(0)
        with (folder / "rollouts.jsonl").open("w") as file:
            for step in range(SAMPLES):
                row = {"prompt": "Why?", "response": "because " * TOKENS, "reward": 1.0, "step": step}
                row |= {name: [round(rng.gauss(0, 1), 12) for _ in range(TOKENS)] for name in ARRAYS}
                file.write(json.dumps({**row, "response_tokens": ["because "] * TOKENS}) + "\n")
    return folder


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    args = parser.parse_args()
    run = written(args.work / "sample")
    index = args.work / "sample-index"
    with rolloupe.open(run, index_dir=index) as runs:
        name, keys = runs.runs[0].id, [sample.key for sample in runs.runs[0].samples()]
    lines = (run / "rollouts.jsonl").read_bytes().splitlines()
    command = [sys.executable, "-m", "rolloupe", "view", str(run), "--no-browser", "--index-dir", str(index)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        link = next(match for text in server.stdout if (match := re.search(r"http://([\d.:]+)/#token=(\S+)", text)))
        connection = http.client.HTTPConnection(link[1])
        served, parsed, size = [], [], 0
        for key, line in zip(keys, lines, strict=True):  # each once: answers are kept
            path = f"/api/runs/{quote(name)}/sample?id={quote(str(key))}"
            began = time.perf_counter()
            connection.request("GET", path, headers={"Authorization": f"Bearer {link[2]}"})
            answer = connection.getresponse()
            size = len(answer.read())
            served.append(time.perf_counter() - began)
            assert answer.status == 200, answer.status
            began = time.perf_counter()
            json.loads(line)
            parsed.append(time.perf_counter() - began)
    finally:
        server.terminate()
        server.wait()
    size_mb, took, alone = len(lines[0]) / 1e6, *(statistics.median(taken[1:]) * 1000 for taken in (served, parsed))
    print(f"a line of {size_mb:.1f} MB, medians of {SAMPLES - 1}: {took:.1f} ms from request to last byte", end="")
    print(f" ({size / 1e6:.2f} MB); json.loads alone {alone:.1f} ms")


if __name__ == "__main__":
    main()
