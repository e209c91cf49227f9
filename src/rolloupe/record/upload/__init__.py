"""Sends the files of a run elsewhere while they are recorded, in a process of its own.

That process slows no thread of the trainer. If the trainer is killed, it sends the rest.
"""

import contextlib
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from rolloupe.record.failures import Trouble

WAIT_S = 60.0
"""How long `close` waits for the rest to be sent."""

_abandoned: list["subprocess.Popen[bytes]"] = []
_PACKAGES = Path(__file__).resolve().parents[3]


def start(folder: Path, target: str) -> "subprocess.Popen[bytes]":
    """Start the process that sends."""
    paths = [str(_PACKAGES), *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.Popen(
        [sys.executable, "-m", "rolloupe.record.upload.delivery", str(folder), target],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,  # Ctrl-C ends the trainer alone
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )


class Upload:
    """Sends the files of a run to a target while it is recorded. Never raises, and waits only in `close`."""

    def __init__(self, folder: Path, target: str, trouble: Trouble) -> None:
        self._target, self._trouble = target, trouble
        self._left: dict[str, Any] = {}
        """The last message of the process: how many files wait, their bytes, and why they were not sent.

        A new attempt has no reason yet: that of the attempt before stays.
        """
        self._words = ""
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._process = start(folder, target)
        except (OSError, ValueError, TypeError) as error:
            trouble.say(f"nothing is uploaded to {target}: {error}")
            return
        self._listener = threading.Thread(target=self._listen, args=(self._process,), daemon=True)  # type: ignore[pyrefly:possibly-uninitialized-attribute]
        self._listener.start()

    def _listen(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stdout is not None
        with contextlib.suppress(OSError, ValueError), process.stdout as lines:
            for line in lines:
                try:
                    message = json.loads(line)
                    reason = message["reason"] or self._left.get("reason", "")
                    self._left = {**self._left, **message, "reason": reason}
                except (ValueError, TypeError, KeyError):
                    self._words = line.decode("utf-8", "replace").strip() or self._words
                    continue
                if reason:
                    self._trouble.say(f"uploads to {self._target} wait: {reason}. They are tried again", once=reason)

    def close(self) -> None:
        """Let the process send the rest and end; after a while, report the unsent files and stop waiting."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        with contextlib.suppress(OSError, ValueError):
            process.stdin.write(b"end\n")
            process.stdin.close()
        code = None
        try:
            code = process.wait(WAIT_S)
            self._listener.join(1)
        except (subprocess.TimeoutExpired, TimeoutError):
            process.returncode = 0  # it keeps running
        if code != 0:
            files, size = self._left.get("files"), self._left.get("bytes", 0)
            what = "the run" if files is None else f"{files:,} files of the run, {size / 1e6:,.1f} MB"
            reason = self._left.get("reason") or self._words
            left = f"{what} ({reason})" if reason else what
            again = "The next recorder with this folder and upload sends it"
            self._trouble.say(f"not uploaded yet to {self._target}: {left}. {again}")

    def abandon(self) -> None:
        """Let go of the process in a fork: it belongs to the parent."""
        process, self._process = self._process, None
        if process is not None:
            process.returncode = 0
            _abandoned.append(process)  # the parent's listener may hold the lock of its output
            if process.stdin is not None:
                with contextlib.suppress(OSError, ValueError):
                    process.stdin.close()
