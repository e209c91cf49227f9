"""Where Chromium is. Run by `make browser` too: exit code 1 when there is none.

The headless shell comes first: it draws the same pages with half the processor time of a whole browser.
"""

import os
import shutil
import sys

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find() -> str | None:
    """Return the browser to test in: the one that ROLLOUPE_CHROMIUM names, else the first on the PATH."""
    named = os.environ.get("ROLLOUPE_CHROMIUM")
    return next((path for name in ([named] if named else NAMES) if (path := shutil.which(name))), None)


if __name__ == "__main__":
    sys.exit(0 if find() else 1)
