"""What of a run has to be sent, and in which order, so that a reader there never meets half of a step.

A file that grows is sent again as a whole. Samples name parts of token series, so parts go first, and of the samples
only what was there before the parts were listed. The note that the run has ended goes last.
"""

import errno
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from rolloupe.record.files.folder import ATTEMPTS, CHECKPOINTS, ENDED
from rolloupe.record.upload.targets import MARK, FileVersion, Target, files_in

TOKENS = "tokens"
_LATER = {TOKENS: 1, "samples": 2, "annotations": 2, "metrics": 2, "torn": 2, "losses": 2, CHECKPOINTS: 3, ENDED: 4}


class Delivery:
    """Sends the files of a run that have changed since they were sent, by this process or by an earlier one."""

    def __init__(self, folder: Path, target: Target) -> None:
        self._folder, self._target = folder, target
        self._is_marked = False
        self._sent: dict[str, FileVersion] | None = None
        """The state of each local file as it was sent; None until the target has said what lies there."""

    def waiting(self) -> dict[str, FileVersion]:
        """The files that are not sent as they are, in the order in which they go. Raises `OSError` of the target."""
        rest = files_in(self._folder)
        rest = {name: state for name, state in rest.items() if not name.startswith(f"{TOKENS}/")}
        parts = {f"{TOKENS}/{name}": state for name, state in files_in(self._folder / TOKENS).items()}
        local = rest | parts
        if self._sent is None:
            known = self._target.known()
            self._sent = {name: state for name, state in local.items() if _is_there(name, state.size, known.get(name))}
        changed = [name for name, state in local.items() if self._sent.get(name) != state]
        return {name: local[name] for name in sorted(changed, key=lambda name: (_LATER.get(_top(name), 0), name))}

    def _mark_target(self) -> None:
        """Mark the target as that of this folder. Raises `OSError` if another folder's run lies there.

        Files of two runs have the same names: one run would replace parts of the other.
        """
        path = self._folder / MARK
        own = ""
        with suppress(OSError):  # of a full disk: what is there is sent without
            with suppress(FileExistsError), path.open("x", encoding="ascii") as file:
                file.write(secrets.token_hex(8))
            own = path.read_text(encoding="ascii")
        if not own:
            return
        if self._target.mark() == "":
            self._target.put(MARK, path, len(own))
        if self._target.mark() != own:
            reason = "the run of another folder is there, and its files would be replaced. Next: name another place"
            raise OSError(errno.EEXIST, reason)

    def send(self, waiting: dict[str, FileVersion], tell: Callable[[dict[str, FileVersion]], None]) -> None:
        """Send files, and tell after each what still waits. Raises `OSError` of the target."""
        assert self._sent is not None
        if not self._is_marked:
            self._mark_target()
        self._is_marked = True
        left = dict(waiting)
        for name, state in waiting.items():
            path = self._folder / name
            if path.exists():
                self._target.put(name, path, state.size)
            self._sent[name] = state
            del left[name]
            tell(left)


def _top(name: str) -> str:
    return name.partition("/")[0]


def _is_there(name: str, size: int, sent_size: int | None) -> bool:
    """Tell whether a file was sent as it is. Most only grow; the few that are replaced go at every start."""
    return size == sent_size and (_top(name) in _LATER or name == ATTEMPTS)
