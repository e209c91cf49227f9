"""What the code of a run differs by from its repository: the commit, staged and unstaged changes, untracked files."""

import os
import subprocess
from pathlib import Path

TIMEOUT_S = 10.0
MAX_BYTES = 8 * 2**20
MAX_UNTRACKED = 1_000


def code_diff(folder: str | os.PathLike[str]) -> str:
    """Return it as text; empty where the folder is in no repository, or there is no git."""
    head = _git(folder, "rev-parse", "HEAD")
    if head is None and _git(folder, "rev-parse", "--git-dir") is None:
        return ""
    branch = (_git(folder, "rev-parse", "--abbrev-ref", "HEAD") or "").strip()
    told = [f"# HEAD {(head or 'none yet').strip()} ({branch})\n"]
    for title, arguments in (("staged", ("diff", "--cached")), ("not staged", ("diff",))):
        told += [f"\n# {title}\n", _git(folder, *arguments, "--no-ext-diff", "--no-color") or ""]
    untracked = (_git(folder, "ls-files", "--others", "--exclude-standard", "-z") or "").split("\0")[:-1]
    told += ["\n# untracked\n", *(f"# {name!r}\n" for name in untracked[:MAX_UNTRACKED])]
    if len(untracked) > MAX_UNTRACKED:
        told.append(f"# and {len(untracked) - MAX_UNTRACKED} more\n")
    return "".join(told)


def _git(folder: str | os.PathLike[str], *arguments: str) -> str | None:
    """The output of a git command, None where it fails. Nothing that a repository configures is run."""
    command = ["git", "-c", "core.fsmonitor=false", "-c", "core.pager=cat", *arguments]
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
    try:
        done = subprocess.run(
            command, cwd=Path(folder), env=environment, capture_output=True, timeout=TIMEOUT_S, check=False
        )
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return done.stdout[:MAX_BYTES].decode("utf-8", "replace") if done.returncode == 0 else None
