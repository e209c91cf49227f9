"""What one sample in the middle of a large file costs, for each way in which the file can be compressed.

    python benchmarks/compressed.py OUT --megabytes 500

Writes the files below OUT and times, each in a process of its own: the first look into the middle, a second one a
quarter before it, and a whole scan with its memory.
"""

import argparse
import gzip
import random
import resource
import struct
import subprocess
import sys
import time
from pathlib import Path

FRAME_BYTES = 4 * 2**20


def write(folder: Path, size: int) -> None:
    """Write the same lines in every way."""
    from rolloupe.formats._decoding import zstd

    rng = random.Random(7)
    words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randrange(2, 9))) for _ in range(4000)]
    lines, total = [], 0
    while total < size:
        text = " ".join(rng.choices(words, k=1200))
        numbers = ", ".join(f"{-rng.expovariate(3):.4f}" for _ in range(300))
        line = (
            f'{{"prompt": "p{len(lines) // 16}", "response": "{text}", "reward": 1.0, "step": 0, "lp": [{numbers}]}}\n'
        )
        lines.append(line.encode())
        total += len(lines[-1])
    data = b"".join(lines)
    pieces = [data[at : at + FRAME_BYTES] for at in range(0, len(data), FRAME_BYTES)]
    frames = [zstd.compress(piece, 3) for piece in pieces]
    entries = b"".join(struct.pack("<II", len(f), len(p)) for f, p in zip(frames, pieces, strict=True))
    table = entries + struct.pack("<IBI", len(frames), 0, 0x8F92EAB1)
    files = {
        "plain.jsonl": data,
        "member.jsonl.gz": gzip.compress(data, 6),
        "members.jsonl.gz": b"".join(gzip.compress(piece, 6) for piece in pieces),
        "frame.jsonl.zst": zstd.compress(data, 3),
        "frames.jsonl.zst": b"".join(frames),
        "table.jsonl.zst": b"".join(frames) + struct.pack("<II", 0x184D2A5E, len(table)) + table,
    }
    for name, content in files.items():
        (folder / name).write_bytes(content)


def measure(path: str, length: int) -> str:
    """Time the looks and the scan; one line of a table."""
    from rolloupe.formats import by_name
    from rolloupe.formats._compressed import open_binary
    from rolloupe.model import RunInfo, RunPart

    looks = []
    for place in (length // 2, length // 4, length // 4 + 10**5):
        began = time.perf_counter()
        with open_binary(path) as file:
            file.seek(place)
            assert file.read(10_000)
        looks.append((time.perf_counter() - began) * 1000)
    began = time.perf_counter()
    reader = by_name("generic")
    run = RunInfo(name="r", root=path, format="generic", reason="", parts=(RunPart(path),))
    rows = sum(1 for source in reader.sources(run) for _ in reader.scan(run, source, 0, 2**62))
    scan_s = time.perf_counter() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale()
    name, size = Path(path).name, Path(path).stat().st_size / 2**20
    first, second, near = looks
    return (
        f"{name:18} {size:6.0f} MiB  first {first:7.1f} ms  earlier {second:7.1f} ms  beside {near:5.1f} ms  "
        f"scan {scan_s:5.1f} s, {rows} rows, {memory:4.0f} MiB"
    )


def scale() -> int:
    """What `ru_maxrss` counts in, for MiB: KiB on Linux, bytes on macOS."""
    return 2**20 if sys.platform == "darwin" else 2**10


def main() -> None:
    """Write the files and measure each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--megabytes", type=int, default=500)
    parser.add_argument("--write", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--length", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(measure(options.one, options.length))
        return
    options.out.mkdir(parents=True, exist_ok=True)
    if options.write:
        write(options.out, options.megabytes * 2**20)
        return
    again = [sys.executable, __file__, str(options.out), "--megabytes", str(options.megabytes)]
    subprocess.run([*again, "--write"], check=True)  # a process inherits the largest memory of the one that starts it
    length = (options.out / "plain.jsonl").stat().st_size
    for path in sorted(options.out.glob("*.jsonl*")):
        subprocess.run([*again, "--one", str(path), "--length", str(length)], check=True)


if __name__ == "__main__":
    main()
