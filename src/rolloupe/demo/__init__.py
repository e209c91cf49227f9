"""Small real runs that come with the package, for `rolloupe demo`. What each is and its licence: README.md here."""

from pathlib import Path

RUNS = Path(__file__).parent / "runs"
"""A folder of runs: what `rolloupe demo` opens."""
