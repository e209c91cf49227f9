"""Opening the page in the person's browser, where there is one to see."""

import contextlib
import os
import sys
import threading
import webbrowser


def has_display() -> bool:
    """True where a browser could show itself to whoever typed the command: not over SSH, not without a display."""
    if any(os.environ.get(name) for name in ("SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY")):
        return False
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def open_page(address: str) -> None:
    """Open an address in the background; some browsers' commands return only when they are closed."""
    if has_display():
        threading.Thread(target=_open, args=(address,), name="browser", daemon=True).start()


def _open(address: str) -> None:
    with contextlib.suppress(webbrowser.Error, OSError):
        webbrowser.open(address)
