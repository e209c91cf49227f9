"""The form of the documents: what a reader may rely on to find something quickly."""

import re
from pathlib import Path

import pytest
from tools.check_links import DEFINITION, faults
from tools.pages import DOCS, PAGES

import rolloupe
from tests import walk

ROOT = Path(__file__).parents[1]
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
DOCUMENTS = sorted(
    path for pattern in ("*.md", "docs/**/*.md", "examples/**/*.md", "src/**/*.md") for path in ROOT.glob(pattern)
)
LONGEST_CHANGE = 240
"""Characters of a line of the changelog: more than this is documentation."""
MOST_LINES = 80
"""Lines of the changelog of the first release."""
MOST_FILES = 22
"""Files that a row of the list may pass: see `tests/walk.py`."""


@pytest.mark.parametrize("name", PAGES)
def test_the_pages_that_follow_from_the_code_are_fresh(name: str) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == PAGES[name](), "Next: make pages"


def test_the_changelog_keeps_a_changelog() -> None:
    first, *versions = re.split(r"^## ", CHANGELOG, flags=re.MULTILINE)[1:]
    assert first.startswith("Unreleased\n")
    assert all(re.match(r"\d+\.\d+\.\d+ - \d{4}-\d\d-\d\d\n", version) for version in versions)
    assert not versions or versions[0].startswith(f"{rolloupe.__version__} ")
    assert versions or len(CHANGELOG.splitlines()) <= MOST_LINES


def test_each_change_is_one_short_line() -> None:
    body = CHANGELOG[CHANGELOG.index("\n### ") : CHANGELOG.index("<!-- --8<-- [end:versions] -->")]
    for line in body.splitlines():
        assert re.match(r"- .*\.$|#{2,3} \S|$", line), line
        assert len(line) <= LONGEST_CHANGE, line


def test_the_changelog_has_the_same_links_in_the_repository_and_on_the_site() -> None:
    links = dict(DEFINITION.findall(CHANGELOG))
    on_site = dict(DEFINITION.findall((ROOT / "docs/changelog.md").read_text(encoding="utf-8")))
    assert links == {label: f"docs/{page}" for label, page in on_site.items()}
    assert [label for label in links if CHANGELOG.count(f"[{label}]") < 2] == []


def test_the_links_of_documents_lead_somewhere() -> None:
    found = {document: list(faults(document, ROOT / "docs")) for document in DOCUMENTS}
    assert {document: dead for document, dead in found.items() if dead} == {}


DEAD_LINKS = (
    "[x](gone.md)", "[x](page.md#gone)", "[x](#gone)", "[x](../outside.md)", "[x][undefined]", "[x]: gone.md",
    '<img src="gone.png">',
)  # fmt: skip


def test_the_check_of_links_finds_a_dead_one(tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (tmp_path / "outside.md").touch()
    page = site / "page.md"
    sound = "# A `page`\n\n[a](page.md#a-page) [b](#a-page) [c][own] [d](https://a.example/) `[e](gone.md)`\n"
    sound += "\n[own]: page.md\n"
    page.write_text(sound, encoding="utf-8")
    assert list(faults(page, site)) == []
    for link in DEAD_LINKS:
        page.write_text(f"{sound}\n{link}\n", encoding="utf-8")
        assert len(list(faults(page, site))) == 1, link


def test_each_decision_is_numbered_dated_and_in_the_index() -> None:
    records = sorted((ROOT / "docs/decisions").glob("[0-9]*.md"))
    index = (ROOT / "docs/decisions/index.md").read_text(encoding="utf-8")
    status = r"(?:Accepted|Superseded by \[.+\]\(.+\))"
    form = rf"# (\d+)\. (.+)\n\n- Date: (\d{{4}}-\d\d-\d\d(?:, \d{{4}}-\d\d-\d\d)*)\n- Status: {status}\n\n"
    parts = ["Context", "Decision", "Consequences"]
    for record in records:
        text = record.read_text(encoding="utf-8")
        match = re.match(form, text)
        assert match is not None, record.name
        assert int(match[1]) == int(record.name[:3])
        assert re.findall(r"^## (.*)$", text, re.MULTILINE) in (parts, [*parts, "Alternatives"]), record.name
        assert f"| {match[1]} | [{match[2]}]({record.name}) | {match[3]} |\n" in index
    assert index.count("\n| ") == len(records) + index.count("\n## ")  # each table has a line of names


def test_a_reward_passes_few_files_from_the_index_to_the_page(tmp_path: Path) -> None:
    assert len(walk.files_of_request(tmp_path)) + len(walk.files_of_page()) <= MOST_FILES


@pytest.mark.parametrize("name", ["Where to look", "A walk of one reward"])
def test_the_architecture_names_files_that_there_are(name: str) -> None:
    assert [path for path in files_in(section(name)) if not path.is_file()] == []


def test_where_to_look_names_what_these_files_define() -> None:
    for row in section("Where to look").splitlines()[6:]:
        _, _, files, names, _ = row.split("|")
        text = "".join(path.read_text(encoding="utf-8") for path in files_in(files))
        for name in re.findall(r"`(\w+)`", names):
            assert re.search(rf"^ *(?:export )?(?:def |class |function |const )?{name}\b", text, re.MULTILINE), (
                files,
                name,
            )


def section(name: str) -> str:
    """A section of the document of the architecture."""
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    return re.split(r"^## ", text[text.index(f"## {name}\n") + 3 :], maxsplit=1, flags=re.MULTILINE)[0].rstrip()


def files_in(text: str) -> list[Path]:
    """The files that a text names, as paths."""
    files = set(re.findall(r"`([\w./]+\.(?:py|tsx?))`", text))
    return [
        ROOT / file if file.startswith(("web/", "tools/")) else ROOT / "src/rolloupe" / file for file in sorted(files)
    ]


def test_every_page_is_in_the_navigation_of_the_site() -> None:
    navigation = (ROOT / "zensical.toml").read_text(encoding="utf-8")
    pages = [path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")]
    records = [page for page in pages if re.match(r"decisions/\d", page)]  # their index leads to them
    assert [page for page in pages if f'"{page}"' not in navigation] == records
