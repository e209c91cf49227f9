"""Packages that lie on the path as installed ones do, with formats of their own."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

import rolloupe
from rolloupe.formats.registry import other_formats

SOURCE = str(Path(rolloupe.__file__).parents[1])


def install(site: Path, name: str, formats: Mapping[str, str], modules: Mapping[str, str]) -> Path:
    """Put a package into a folder: its modules, and its entry points for formats."""
    info = site / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    entries = "".join(f"{one} = {place}\n" for one, place in formats.items())
    (info / "entry_points.txt").write_text(f"[rolloupe.formats]\n{entries}")
    for module, text in modules.items():
        (site / f"{module}.py").write_text(text, encoding="utf-8")
    return site


@contextmanager
def on_path(site: Path) -> Iterator[Path]:
    """Have the packages of a folder installed for this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(site)
        other_formats.cache_clear()
        try:
            yield site
        finally:
            patch.undo()
            other_formats.cache_clear()


def python(site: Path, *arguments: str, cwd: Path | None = None) -> "subprocess.CompletedProcess[str]":
    """Run Python where the packages of a folder are installed."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(site), SOURCE]), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, env=environment, cwd=cwd, capture_output=True, text=True, check=False)
