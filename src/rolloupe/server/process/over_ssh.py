"""A viewer that `rolloupe view host:path` starts over SSH: its token comes by standard input, and it ends with that.

A command line would show the token to everybody on the machine, and a viewer would outlive a connection that is lost.
"""

import os
import signal
import sys
import threading

READY = "ready"
"""The line that says that the port is open."""

PORT_TAKEN = 98
"""Exit code: the port that the other side has drawn is in use."""


def token_from_input() -> str | None:
    """Read the line with the token. None for an empty one."""
    return sys.stdin.readline().strip() or None


def end_with_input() -> None:
    """Stop as at SIGTERM once standard input is closed, however the other side has ended."""
    threading.Thread(target=_wait, name="standard input", daemon=True).start()


def _wait() -> None:
    while sys.stdin.read(4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
