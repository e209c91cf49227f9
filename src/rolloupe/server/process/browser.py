"""Opens the page in the person's browser, if the machine has a display."""

import contextlib
import os
import sys
import threading
import webbrowser


def has_display() -> bool:
    """True if a browser can appear on the person's screen: not over SSH, not without a display."""
    if any(os.environ.get(name) for name in ("SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY")):
        return False
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def open_page(address: str) -> None:
    """Open an address in the background; some browsers' commands return only after the browser closes."""
    if has_display():
        threading.Thread(target=_open, args=(address,), name="browser", daemon=True).start()


def _open(address: str) -> None:
    with contextlib.suppress(webbrowser.Error, OSError):
        webbrowser.open(address)
