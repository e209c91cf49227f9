"""What the code of a run differs in from what is committed: text for `code.diff`, in the cookbook's form."""

import os
import subprocess
from pathlib import Path

MAX_S = 20.0
MAX_CHARS = 4 * 2**20
MAX_UNTRACKED = 1000


def code_diff(folder: Path) -> str:
    """Return the head of the repository around a folder, what is changed, staged or not, and names of untracked files.

    Without a repository, or without git, the text says so.
    """
    top = _git(folder, "rev-parse", "--show-toplevel")
    if top is None:
        return f"### module: {folder.name} (not in a git repository)\nmodule_path: {folder}\n"
    root = Path(top.strip())
    head = (_git(root, "rev-parse", "HEAD") or "UNKNOWN").strip()
    changed = (_git(root, "diff", "--no-color", "--no-ext-diff", "--no-textconv", "HEAD") or "").rstrip()
    if len(changed) > MAX_CHARS:
        changed = f"{changed[:MAX_CHARS]}\n(cut: {len(changed):,} characters)"
    body = f"-- repo-wide (vs HEAD, staged+unstaged) --\n{changed}\n" if changed else "(no local changes)\n"
    return f"### repo: {root} @ {head}\nmodules: {folder.name}\n{body}{_untracked(root)}"


def _untracked(root: Path) -> str:
    names = (_git(root, "ls-files", "--others", "--exclude-standard") or "").splitlines()
    if not names:
        return ""
    more = [f"({len(names) - MAX_UNTRACKED:,} more)"] if len(names) > MAX_UNTRACKED else []
    return "\n".join(["-- untracked --", *names[:MAX_UNTRACKED], *more, ""])


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],  # noqa: S607 (the user's own git)
            capture_output=True,
            check=True,
            timeout=MAX_S,
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "replace")
