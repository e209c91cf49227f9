"""The built browser app: `index.html` for every page, and its hashed assets.

An address never becomes a path: a request can only name one of the files listed beforehand. The shell contains no data
and is public.
"""

import html
import mimetypes
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from rolloupe.server import replies
from rolloupe.server.security.layers import is_api
from rolloupe.wire.app_files import PLACES, app_files, built

TYPES = {
    ".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".svg": "image/svg+xml",
    ".json": "application/json", ".woff2": "font/woff2", ".webmanifest": "application/manifest+json",
    ".md": "text/plain", ".txt": "text/plain",
}  # fmt: skip

A_DAY = "private, max-age=86400"
"""Browsers request the icon again whenever the address changes."""

FOREVER = "public, max-age=31536000, immutable"
"""For assets, whose names contain a hash of their content."""

NOT_BUILT = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Rolloupe</title></head><body>
<h1>The browser app is not built</h1>
<p>This is a checkout without <code>web/dist</code>. Run <code>make web</code>, then load this page again.</p>
</body></html>
"""


class File(NamedTuple):
    """A file of the app, in memory."""

    body: bytes
    packed: bytes
    media_type: str
    caching: str
    tag: str


class Shell:
    """The files of the app, each compressed when it is first asked for.

    In a checkout, each build makes the server read them again.
    """

    def __init__(self, base_path: str, places: tuple[Path, ...] = PLACES) -> None:
        self._base_path = base_path
        self._places = places
        self._bodies: dict[str, bytes] = {}
        self._files: dict[str, File] = {}
        self._built_ns = 0

    def file(self, path: str) -> File | None:
        """Return the file of this name, or the page for any other address; None for a missing asset."""
        place, built_ns = built(self._places) or (None, -1)
        if built_ns != self._built_ns:
            self._bodies, self._files = self._read(place), {}
            self._built_ns = built_ns
        if path not in self._bodies:
            if path.startswith("assets/"):
                return None
            path = "index.html"
        if path not in self._files:
            self._files[path] = _file(path, self._bodies[path])
        return self._files[path]

    def _read(self, place: Path | None) -> dict[str, bytes]:
        bodies = app_files(place) if place else {"index.html": NOT_BUILT.encode()}
        base = html.escape(f"{self._base_path}/", quote=True)  # relative links and the app's router start from it
        page = bodies["index.html"].decode().replace("<head>", f'<head><base href="{base}">', 1)
        bodies["index.html"] = page.encode()
        return {name: body for name, body in bodies.items() if not name.endswith(".map")}


def _file(name: str, body: bytes) -> File:
    caching = FOREVER if name.startswith("assets/") else A_DAY if name == "favicon.svg" else "no-cache"
    suffix = PurePosixPath(name).suffix
    kind = TYPES.get(suffix) or mimetypes.types_map.get(suffix, "application/octet-stream")
    text = kind.startswith("text/") or kind.endswith(("json", "xml"))
    packed = replies.compressed(body) if text else b""
    return File(body, packed, f"{kind}; charset=utf-8" if text else kind, caching, replies.etag(body.hex()))


PLACE = "/{path:path}"
"""The addresses that are not below /api/."""


async def shell(request: Request) -> Response:
    """Answer every address that is not below /api/."""
    path = str(request.path_params["path"])
    files = request.app.state.shell
    assert isinstance(files, Shell)
    found = None if is_api(f"/{path}") else files.file(path)
    if found is None:
        return replies.error_reply(404, "nothing is at this address", "Open the start page.")
    headers = {"cache-control": found.caching, "vary": "accept-encoding", "etag": found.tag}
    if replies.holds(request.headers, found.tag):
        return Response(status_code=304, headers=headers)
    coding = replies.coding_of(request.headers, len(found.body), among=(replies.GZIP,))
    if found.packed and coding:
        return Response(found.packed, headers={**headers, "content-encoding": coding}, media_type=found.media_type)
    return Response(found.body, headers=headers, media_type=found.media_type)
