"""The check of the built documentation finds what it is for."""

from pathlib import Path

import pytest
from tools.check_docs import POLICY, faults

HEAD = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}"><link rel="canonical" href="https://a.example/">'


def site(folder: Path, body: str, head: str = HEAD) -> list[str]:
    (folder / "sub").mkdir()
    (folder / "index.html").write_text(f"<html><head>{head}</head><body>{body}</body></html>")
    (folder / "sub/index.html").write_text(f'<html><head>{HEAD}</head><body><h1 id="top">x</h1></body></html>')
    (folder / "style.css").write_text("a { background: url(data:image/png;base64,AA) }")
    return sorted(faults(folder))


@pytest.mark.parametrize(
    "body",
    [
        '<a href="sub/index.html#top">x</a><a href="sub/">x</a><a href="#here" id="here">x</a>',
        '<a href="https://a.example/page">a link is not loaded</a><img src="data:image/png;base64,AA">',
        '<link rel="stylesheet" href="style.css"><a href="mailto:a@a.example">x</a>',
    ],
)
def test_a_sound_page_has_no_faults(tmp_path: Path, body: str) -> None:
    assert site(tmp_path, body) == []


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ('<script src="https://cdn.example/x.js"></script>', "loads https://cdn.example/x.js"),
        ('<link rel="stylesheet" href="//fonts.example/css">', "loads //fonts.example/css"),
        ('<link rel="preconnect" href="https://fonts.example">', "loads https://fonts.example"),
        ('<img srcset="https://a.example/1.png 2x">', "loads https://a.example/1.png"),
        ("<p style=\"background: url('http://a.example/b')\">x</p>", "loads http://a.example/b"),
        ('<a href="gone.html">x</a>', "gone.html does not exist"),
        ('<a href="sub/index.html#gone">x</a>', "sub/index.html#gone: no such anchor"),
        ('<a href="#gone">x</a>', "#gone: no such anchor"),
        ('<img src="gone.png">', "gone.png does not exist"),
    ],
)
def test_a_fault_is_named_with_its_page(tmp_path: Path, body: str, fault: str) -> None:
    assert site(tmp_path, body) == [f"index.html: {fault}"]


def test_a_page_without_the_policy_is_a_fault(tmp_path: Path) -> None:
    assert site(tmp_path, "", head="") == ["index.html: no content security policy"]


def test_a_font_of_a_style_sheet_is_looked_at(tmp_path: Path) -> None:
    site(tmp_path, "")
    (tmp_path / "style.css").write_text('@import "https://fonts.example/inter";')
    assert list(faults(tmp_path)) == ["style.css: loads https://fonts.example/inter"]


def test_an_empty_site_is_a_fault(tmp_path: Path) -> None:
    assert list(faults(tmp_path)) == [f"{tmp_path}: no pages"]
