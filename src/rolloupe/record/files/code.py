"""How the code of a run differs from its repository: the commit, staged and unstaged changes, untracked files."""

import os
import subprocess
from pathlib import Path

TIMEOUT_S = 10.0
MAX_BYTES = 8 * 2**20
MAX_UNTRACKED = 1_000


def code_diff(folder: str | os.PathLike[str]) -> str:
    """Return the difference as text; the text also says if the folder is in no repository or git is missing."""
    top = _git(folder, "rev-parse", "--show-toplevel")
    if top is None:
        return f"### module: {Path(folder).resolve().name} (not in a git repository)\n"
    root = top.strip()
    head = (_git(root, "rev-parse", "HEAD") or "no commit yet").strip()
    sections = [f"### repo: {root} @ {head}\n"]
    for title, arguments in (("staged", ("diff", "--cached")), ("not staged", ("diff",))):
        diff = _git(root, *arguments, "--no-ext-diff", "--no-textconv", "--no-color")
        sections += [f"-- {title} --\n{diff}"] if diff else []
    untracked = (_git(root, "ls-files", "--others", "--exclude-standard", "-z") or "").split("\0")[:-1]
    if untracked:
        more = [f"({len(untracked) - MAX_UNTRACKED:,} more)"] if len(untracked) > MAX_UNTRACKED else []
        sections.append("\n".join(["-- untracked --", *untracked[:MAX_UNTRACKED], *more, ""]))
    return "".join(sections) if len(sections) > 1 else f"{sections[0]}(no local changes)\n"


def _git(folder: str | os.PathLike[str], *arguments: str) -> str | None:
    """Return the output of a git command, None if it fails. Runs nothing that a repository configures."""
    command = ["git", "-c", "core.fsmonitor=false", "-c", "core.pager=cat", *arguments]
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
    try:
        done = subprocess.run(
            command, cwd=Path(folder), env=environment, capture_output=True, timeout=TIMEOUT_S, check=False
        )
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return done.stdout[:MAX_BYTES].decode("utf-8", "replace") if done.returncode == 0 else None
