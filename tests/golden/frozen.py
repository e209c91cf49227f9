"""The runs that are asked, and answers without what differs from day to day and from machine to machine."""

import gzip
import hashlib
import json
import math
import os
import re
import shutil
from pathlib import Path
from typing import Any

from rolloupe._version import __version__
from rolloupe.index import Library
from tests.formats.examples import EXAMPLES

DATA = Path(__file__).parents[1] / "data"
RUNS = DATA / "golden/runs"
"""The bundled runs of 29 November 2026."""
ANSWERS = DATA / "golden/answers"
LARGEST = "tiny_grpo"
"""The bundled run with the most samples: what takes long is asked of others, unless it alone has it."""
LIKE_ANOTHER = "eval_poem_task"
"""A run of the format of another: a page opens it, and no more is asked."""
CHANGED_S = 1_790_000_000
"""When every file of these runs was changed last."""
VOLATILE = {
    "version", "versions", "stamp", "stamps", "changed_s", "program", "server", "pid", "search", "took_s", "seconds",
    "platform", "python", "made", "instance", "bytes",
}  # fmt: skip
"""Members of answers that say when and where they were made."""

VERSIONS = re.compile(r"rolloupe VERSION, python .*")
"""What `rolloupe doctor` prints of this machine."""

ROUNDED = 1e-10
"""Relative: threads add the same numbers in another order, and processors round logarithms differently."""
SIGNIFICANT = 6
"""Digits of the numbers that agents are answered: the last one may differ where the sum lies between two."""

MODULE = re.compile(r"\brolloupe\.(?:\w+\.)+")
"""The place of a type in a signature."""

Answers = dict[str, Any]
"""Answers by what was asked."""


def placed(folder: Path) -> tuple[Path, Path]:
    """Copy the frozen runs, and a run of each format, into a folder; returns both places."""
    whole, formats = folder / "runs", folder / "formats"
    shutil.copytree(RUNS, whole)
    for name, run in EXAMPLES.items():
        root = Path(run.root)
        copied = formats / name / root.name
        copied.parent.mkdir(parents=True)
        (shutil.copytree if root.is_dir() else shutil.copy)(root, copied)
    for path in (whole, formats, *whole.rglob("*"), *formats.rglob("*")):
        os.utime(path, (CHANGED_S, CHANGED_S))
    return whole, formats


def opened(path: Path, index_dir: Path) -> Library:
    """A library of these runs, of which everything is indexed."""
    library = Library([path], index_dir=index_dir, follow=False)
    assert all(run.wait_all(120) for run in library.runs)
    return library


def plain(answer: Any, folder: Path) -> Any:
    """An answer without what is volatile, with `FOLDER` for the place of the runs."""
    if isinstance(answer, dict):
        return {
            plain(key, folder): "volatile" if key in VOLATILE else plain(value, folder) for key, value in answer.items()
        }
    if isinstance(answer, list):
        return [plain(value, folder) for value in answer]
    if isinstance(answer, str):
        told = answer.replace(str(folder), "FOLDER").replace(__version__, "VERSION")
        return VERSIONS.sub("VERSIONS", told)
    return answer


def digest(body: bytes) -> str:
    """What stands for bytes that are not text."""
    return f"{len(body)} bytes {hashlib.blake2b(body, digest_size=8).hexdigest()}"


def recorded(face: str) -> Answers:
    """The recorded answers of a face."""
    answers: Answers = json.loads(gzip.decompress((ANSWERS / f"{face}.json.gz").read_bytes()))
    return answers


def record(face: str, answers: Answers) -> None:
    """Write the answers of a face."""
    ANSWERS.mkdir(parents=True, exist_ok=True)
    text = json.dumps(answers, ensure_ascii=False, sort_keys=True, indent=0)
    (ANSWERS / f"{face}.json.gz").write_bytes(gzip.compress(text.encode("utf-8", "surrogatepass"), mtime=0))


def differences(before: Any, now: Any, path: str = "") -> list[str]:
    """Where two answers differ, a line each."""
    if type(before) is type(now) and isinstance(before, dict):
        return [
            line
            for key in dict.fromkeys([*before, *now])
            for line in differences(before.get(key, "nothing"), now.get(key, "nothing"), f"{path}/{key}")
        ]
    if type(before) is type(now) and isinstance(before, list) and len(before) == len(now):
        pairs = enumerate(zip(before, now, strict=True))
        return [line for place, (old, new) in pairs for line in differences(old, new, f"{path}/{place}")]
    if isinstance(before, float) and isinstance(now, float) and _is_same_sum(before, now):
        return []
    if before == now or (_is_signature(before) and _without_modules(before) == _without_modules(now)):
        return []
    return [f"{path}: {str(before)[:200]} → {str(now)[:200]}"]


def _is_same_sum(before: float, now: float) -> bool:
    """Whether two numbers differ by their rounding alone, as sums do whose summands were added in another order."""
    if any(float(f"{number:.{SIGNIFICANT}g}") != number for number in (before, now)):
        return math.isclose(before, now, rel_tol=ROUNDED)
    _, _, exponent = f"{max(abs(before), abs(now)):e}".partition("e")
    return abs(before - now) < 1.5 * 10.0 ** (int(exponent) + 1 - SIGNIFICANT)


def _is_signature(answer: Any) -> bool:
    return isinstance(answer, str) and answer.startswith("(")


def _without_modules(signature: Any) -> str:
    """A signature with the names of types alone: a type may move to another module."""
    return MODULE.sub("", str(signature))
