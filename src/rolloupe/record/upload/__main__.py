"""The process that sends: `python -m rolloupe.record.upload FOLDER TARGET`.

It prints a line of JSON whenever what waits has changed. Once its standard input says `end` or ends, it sends the rest,
and ends. Of the processes for one folder one sends at a time, where the disk has locks.
"""

import contextlib
import json
import os
import sys
import threading
import time
from pathlib import Path

from rolloupe.record.lines import is_taken
from rolloupe.record.upload.delivery import Delivery, FileVersion, target_of
from rolloupe.storage import is_remote

REST_S = 5.0
REST_SHARE = 4
"""Rest so many times as long as the last delivery took: a file that grows is sent again as a whole."""
MOST_REST_S = 300.0
RETRY_S = (2.0, 60.0)
"""The rest after the first failure; it doubles with each, up to the last."""
PATIENCE_S = 600.0
"""How long to go on after the end of the recorder while nothing can be sent."""
LOCK = ".upload.lock"


def main(folder: Path, address: str) -> int:
    """Send until the recorder ends; returns 1 if something is not sent then."""
    with contextlib.suppress(OSError, AttributeError):
        os.nice(10)
    end = threading.Event()
    threading.Thread(target=_wait_for_the_end, args=(end,), daemon=True).start()
    lock = _Lock(folder / LOCK)
    delivery: Delivery | None = None
    failures, stop_s = 0, float("inf")
    while True:
        is_last, rest_s = end.is_set(), REST_S
        if is_last:
            stop_s = min(stop_s, time.monotonic() + PATIENCE_S)
        if is_last or lock.take():
            began = time.monotonic()
            try:
                delivery = delivery or Delivery(folder, target_of(address, folder))
                waiting = delivery.waiting()
                tell(waiting)
                delivery.send(waiting, tell)
                failures = 0
                if is_last:  # all that the recorder wrote was there when it said so
                    return 0
            except OSError as error:
                failures += 1
                tell(None, _reason(error))
                rest_s = min(RETRY_S[1], RETRY_S[0] * 2.0 ** min(failures, 10))
            else:
                rest_s = min(MOST_REST_S, max(REST_S, REST_SHARE * (time.monotonic() - began)))
        if is_last and time.monotonic() > stop_s:
            return 1
        if is_last:
            time.sleep(rest_s)
        else:
            end.wait(rest_s)


def _wait_for_the_end(end: threading.Event) -> None:
    for line in sys.stdin:
        if line.strip() == "end":
            break
    end.set()


def tell(waiting: dict[str, FileVersion] | None, reason: str = "") -> None:
    """Tell the recorder what waits, if it is known, and why nothing was sent."""
    known = {} if waiting is None else {"files": len(waiting), "bytes": sum(one.size for one in waiting.values())}
    with contextlib.suppress(OSError, ValueError):  # nobody listens any more
        print(json.dumps({**known, "reason": reason}), flush=True)


def _reason(error: OSError) -> str:
    """The reason of a failure; of local files the folder alone: each that cannot be written has another name."""
    words, path = error.strerror or str(error) or type(error).__name__, error.filename
    return f"{words}: {os.path.dirname(path)}" if isinstance(path, str) and not is_remote(path) else words


class _Lock:
    """The right to send, held until the process ends."""

    def __init__(self, path: Path) -> None:
        self._path, self._handle = path, -1

    def take(self) -> bool:
        """Take it; False if another process has it. Where the system or the disk has no locks, everybody has it."""
        if self._handle >= 0:
            return True
        try:
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError:
            return True
        if is_taken(handle):
            os.close(handle)
            return False
        self._handle = handle
        return True


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2]))
