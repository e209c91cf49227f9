"""Links that are swapped in behind names, by a process of its own, so that both sides run at full speed."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.forks import program

SWAP = """
import os, sys
pairs = [pair.split("\\0") for pair in sys.stdin.read().split("\\0\\0")]
print("begun", flush=True)
while True:
    for path, outside in pairs:
        aside, link = path + ".aside", path + ".link"
        os.symlink(outside, link)
        os.rename(path, aside)
        os.rename(link, path)
        os.rename(path, link)
        os.rename(aside, path)
        os.unlink(link)
"""


@contextmanager
def swapping(places: dict[Path, Path]) -> Iterator[None]:
    """Have links to places outside stand at some paths every other moment."""
    process = program(SWAP)
    process.stdin.write("\0\0".join(f"{path}\0{outside}" for path, outside in places.items()).encode())
    process.stdin.close()
    assert process.stdout.readline() == b"begun\n"
    try:
        yield
    finally:
        process.kill()
        process.wait()
        process.close()
