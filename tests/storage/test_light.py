"""What reads object stores is imported with the first address of one, and not before."""

import subprocess
import sys

from rolloupe.demo import RUNS

READING = """
import sys, rolloupe
with rolloupe.open(sys.argv[1]) as runs:
    assert sum(split.samples for run in runs for split in run.splits()) == 78
print([name for name in sys.modules if name.startswith(("obstore", "rolloupe.storage.remote", "configparser"))])
"""


def test_local_runs_import_nothing_that_reads_stores() -> None:
    done = subprocess.run(
        [sys.executable, "-c", READING, f"{RUNS}/other_formats/relax"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
