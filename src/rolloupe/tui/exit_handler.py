"""Ends the process some seconds after a signal, or after the terminal is closed, even if the app hangs."""

import contextlib
import os
import select
import signal
import threading
import time
from collections.abc import Callable

DEADLINE_S = 5.0
"""The app has this time to end by itself."""

STDERR = 2
FLUSHES, PAUSE_S = 20, 0.02

ENDING = threading.Lock()
"""The thread that ends the process holds this lock."""

ENDS = (signal.SIGTERM, signal.SIGHUP)

LEAVE = (
    b"\x18"  # ends an escape sequence that was written in part
    b"\x1b[?2026l\x1b[?2004l\x1b[?7h\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[<u\x1b[?1049l\x1b[?25h\x1b[?1004l"
)
"""What Textual writes to restore the terminal."""


def watch(descriptor: int, end: Callable[[signal.Signals], None]) -> None:
    """Call `end` from a thread of its own when a signal comes or the terminal is closed; later, end the process."""
    import termios  # not on Windows

    attributes = termios.tcgetattr(descriptor)
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)  # written even if the main thread hangs
    for ending in ENDS:
        signal.signal(ending, lambda *_: None)

    def work() -> None:
        by = _wait_for_end(reader, descriptor)
        end(by)
        time.sleep(DEADLINE_S)
        ENDING.acquire()
        with contextlib.suppress(termios.error, OSError):  # the terminal may be gone
            termios.tcsetattr(descriptor, termios.TCSANOW, attributes)
            os.dup2(os.open(os.devnull, os.O_WRONLY), STDERR)
            for thread in threading.enumerate():  # a blocked write holds the terminal: it now goes nowhere
                signal.pthread_kill(thread.ident or threading.get_ident(), by)
            for _ in range(FLUSHES):  # the other end may never read the pending output
                time.sleep(PAUSE_S)
                termios.tcflush(descriptor, termios.TCOFLUSH)
            os.write(os.open(os.ttyname(descriptor), os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY), LEAVE)
        os._exit(128 + by)

    threading.Thread(target=work, name="exit handler", daemon=True).start()


def _wait_for_end(reader: int, descriptor: int) -> signal.Signals:
    poll = select.poll()
    poll.register(reader, select.POLLIN)
    poll.register(descriptor, 0)
    while True:
        for place, event in poll.poll():
            if place == reader:
                signals = os.read(reader, 64)
                for ending in ENDS:
                    if ending in signals:
                        return ending
            elif event & select.POLLHUP:
                return signal.SIGHUP
            else:  # terminals of some systems cannot be polled
                poll.unregister(place)
