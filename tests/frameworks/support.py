"""Frameworks that may be missing, and runs read back."""

import importlib
import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import rolloupe

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/integrations.md"
REQUIRED = os.environ.get("ROLLOUPE_FRAMEWORKS") == "required"


def needs(name: str) -> Any:
    """Import a framework. Without it the tests are skipped, or fail where ROLLOUPE_FRAMEWORKS=required."""
    if REQUIRED:
        return importlib.import_module(name)
    return pytest.importorskip(name, reason=f"{name} is missing: make test-frameworks", exc_type=ImportError)


def blocks(heading: str) -> list[str]:
    """The blocks of Python below a heading of docs/integrations.md."""
    (section,) = re.findall(
        rf"^## {heading}\n(.*?)(?=^## |\Z)", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    return re.findall(r"```python\n(.*?)```", section, re.DOTALL)


def opened(path: Path, told: str = "") -> rolloupe.Run:
    """The one run at a path; it has no problems but those that are told of in these words."""
    (run,) = rolloupe.open(path, index_dir=path.parent / f"{path.name}-index").runs
    reasons = [problem.reason for problem in run.problems()]
    assert bool(reasons) == bool(told) and all(told in reason for reason in reasons), reasons
    return run


def series(sample: rolloupe.Sample) -> dict[str, list[float]]:
    """The token series of a sample."""
    return {one.name: list(one.values) for one in sample.series}


def free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


def run_ranks(command: list[str], world: int = 2) -> None:
    """Run a command once a rank, as torchrun does, and see that all of them end well."""
    told = {**os.environ, "WORLD_SIZE": str(world), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    told["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    places = [{"RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(world)]
    ranks = [subprocess.Popen([sys.executable, *command], env=told | place, **pipes) for place in places]
    said = [rank.communicate()[0] for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0] * world, "\n".join(said)
