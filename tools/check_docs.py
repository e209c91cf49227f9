"""Check the built documentation: it loads nothing from elsewhere, and every link within it leads somewhere.

Run by `make docs`. Prints a line for each fault and exits with 1 if there are any.
"""

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {
    "audio": ("src",),
    "embed": ("src",),
    "iframe": ("src",),
    "image": ("href",),
    "img": ("src", "srcset"),
    "input": ("src",),
    "link": ("href",),
    "object": ("data",),
    "script": ("src",),
    "source": ("src", "srcset"),
    "track": ("src",),
    "use": ("href",),
    "video": ("src", "poster"),
}
"""What a browser fetches by itself, by element and attribute."""
NOT_FETCHED = {"alternate", "author", "canonical", "license", "next", "prev"}
"""Links in the head that name a page without fetching it."""
POLICY = "default-src 'self' 'unsafe-inline' data: blob:"
"""The content security policy of every page: what a script would fetch from elsewhere is refused."""
CSS_ADDRESS = re.compile(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)")


class Page(HTMLParser):
    """The addresses and anchors of one page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.policy = ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what an element loads, links to and is called."""
        values = {name.removeprefix("xlink:"): value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "meta" and values.get("http-equiv") == "Content-Security-Policy":
            self.policy = values.get("content", "")
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag == "link" and NOT_FETCHED & set(values.get("rel", "").split()):
            return
        for name in LOADED.get(tag, ()):
            if name in values:
                parts = values[name].split(",") if name == "srcset" else [values[name]]
                self.loaded += [part.split()[0] for part in parts if part.split()]
        self.loaded += css_addresses(values.get("style", ""))


def css_addresses(text: str) -> list[str]:
    """Return what a style sheet loads."""
    return [first or second for first, second in CSS_ADDRESS.findall(text)]


def is_external(address: str) -> bool:
    """Return whether an address leads out of the site."""
    parts = urlsplit(address)
    return bool(parts.netloc) or parts.scheme not in ("", "data", "blob")


def faults(site: Path) -> Iterator[str]:
    """Find what the pages of a site load from elsewhere, and links of theirs that lead nowhere."""
    pages = {path.resolve(): Page(path) for path in sorted(site.rglob("*.html"))}
    if not pages:
        yield f"{site}: no pages"
    for path, page in pages.items():
        name = path.relative_to(site.resolve())
        if page.policy != POLICY:
            yield f"{name}: no content security policy"
        yield from (f"{name}: loads {address}" for address in page.loaded if is_external(address))
        if name.name != "404.html":  # a server shows it under any address
            yield from (f"{name}: {fault}" for fault in _dead_ends(path, page, pages))
    for sheet in sorted(site.rglob("*.css")):
        addresses = css_addresses(sheet.read_text(encoding="utf-8"))
        yield from (f"{sheet.relative_to(site)}: loads {address}" for address in addresses if is_external(address))


def _dead_ends(path: Path, page: Page, pages: dict[Path, Page]) -> Iterator[str]:
    for address in [*page.links, *page.loaded]:
        parts = urlsplit(address)
        if is_external(address) or parts.scheme:
            continue
        goal = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        goal = goal / "index.html" if goal.is_dir() else goal
        anchor = unquote(parts.fragment)
        if not goal.is_file():
            yield f"{address} does not exist"
        elif anchor and goal in pages and anchor not in pages[goal].anchors:
            yield f"{address}: no such anchor"


if __name__ == "__main__":
    lines = list(faults(Path(sys.argv[1])))
    print(*lines, sep="\n", end="\n" if lines else "")
    sys.exit(bool(lines))
