"""Check the links between the Markdown files of the repository: each leads to a file, and to a heading of it.

`make test` runs this through `tests/test_documents.py`. `make docs` checks the built site besides (`check_docs.py`).
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

CODE = re.compile(r"^(?P<fence>```+|~~~+).*?^(?P=fence)|`[^`\n]+`", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"\]\(([^)\s]+)[^)]*\)")
DEFINITION = re.compile(r"^\[([^\]]+)\]: (\S+)$", re.MULTILINE)
REFERENCE = re.compile(r"\]\[([^\]]+)\]")
ATTRIBUTE = re.compile(r"\b(?:href|src|srcset)=\"([^\"\s]+)")
HEADING = re.compile(r"^#{1,6} (.*)$", re.MULTILINE)


def faults(document: Path, site: Path) -> Iterator[str]:
    """Find the links of a document that lead nowhere; a page of the folder `site` may link to that folder alone."""
    text = CODE.sub("`code`", document.read_text(encoding="utf-8"))
    definitions = dict(DEFINITION.findall(text))
    for label in REFERENCE.findall(text):
        if label not in definitions:
            yield f"[{label}] is not defined"
    for address in [*INLINE.findall(text), *definitions.values(), *ATTRIBUTE.findall(text)]:
        parts = urlsplit(address)
        if parts.scheme or parts.netloc:
            continue
        target = (document.parent / unquote(parts.path)).resolve() if parts.path else document.resolve()
        if not target.exists():
            yield f"{address} does not exist"
        elif document.is_relative_to(site) and not target.is_relative_to(site.resolve()):
            yield f"{address} is not on the site"
        elif parts.fragment and target.suffix == ".md" and unquote(parts.fragment) not in anchors(target):
            yield f"{address}: no such heading"


@cache
def anchors(document: Path) -> frozenset[str]:
    """Return the names by which both GitHub and the site know the headings of a document."""
    text = re.sub(r"^```.*?^```", "", document.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in HEADING.findall(text)]
    github = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return frozenset(github & {_name_on_site(heading) for heading in headings})


def _name_on_site(heading: str) -> str:
    ascii_text = unicodedata.normalize("NFKD", heading).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", ascii_text).strip().lower())
