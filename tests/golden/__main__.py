"""Records the answers again, and says what has changed: `python -m tests.golden`."""

import os
import sys
import tempfile
from pathlib import Path

from tests.golden.faces import FACES, Place
from tests.golden.frozen import ANSWERS, differences, record, recorded


def main() -> None:
    """Record every face, or those that are named."""
    with tempfile.TemporaryDirectory() as home:
        for name in ("CACHE", "CONFIG", "DATA", "STATE"):
            os.environ[f"XDG_{name}_HOME"] = f"{home}/{name.lower()}"
        with Place(Path(home) / "golden") as place:
            for face, ask in FACES.items():
                if len(sys.argv) > 1 and face not in sys.argv[1:]:
                    continue
                answers = ask(place)
                before = recorded(face) if (ANSWERS / f"{face}.json.gz").exists() else {}
                changed = differences(before, answers)
                print(f"{face}: {len(answers)} answers, {len(changed)} differences", *changed[:50], sep="\n  ")
                if changed:
                    record(face, answers)


main()
