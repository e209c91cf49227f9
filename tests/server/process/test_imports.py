"""No two threads import NumPy at once as a viewer or the terminal starts: both might find it half made.

The page's own thread imports it, while the first one imports and runs only what listens first.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from rolloupe.demo import RUNS

STARTS = {
    "the terminal": "from rolloupe.tui.start import RunChoice, Opener; Opener(RunChoice([run], index))",
}
PROGRAM = """
import os, sys
run, index = sys.argv[1:]
{start}
numpy = sys.modules["numpy"]
print(numpy.__spec__._initializing, flush=True)
os._exit(0)
"""


def test_what_listens_first_imports_nothing_heavy() -> None:
    heavy = ("duckdb", "numpy", "pyarrow", "rolloupe.formats.generic", "rolloupe.index", "rolloupe.query")
    code = (
        "import sys, rolloupe.server.process.serve, rolloupe.server.process.front, rolloupe.server.process."
        f"uvicorn_server; print(*(name for name in {heavy} if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


@pytest.mark.parametrize("name", STARTS)
def test_numpy_is_whole_before_a_second_thread_needs_it(name: str, tmp_path: Path) -> None:
    program = PROGRAM.format(start=STARTS[name])
    command = [sys.executable, "-c", program, str(RUNS / "other_formats/relax"), str(tmp_path / "index")]
    assert subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout == "False\n"
