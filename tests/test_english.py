"""Plain English: subject, verb, object; whoever acts comes first. `BANNED` lists phrases that hide who does what."""

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src/rolloupe"

BANNED = {
    r"(?:is|are|was|were|be|been|being) (?:told|said)": "say who tells, or state it",
    r"told": "say who says what to whom",
    r"g(?:o|oes|one) on with": "continue, resume",
    r"(?:of )?that which": "what, or a noun",
    r"anew": "again, or re- (rebuild, renumber)",
    r"where there (?:is|are|was|were)": "if there is, with, without",
    r"(?:that|what) there (?:is|are|was|were)": "drop it: 'the formats', 'existing runs'",
    r"what (?:was|is|were|are) (?:not )?trained on": "a noun: discarded samples, trained samples",
    r"which one is to|is to (?:be|stay)": "which one do you want, must, will",
    r"from which on": "minimum, from ... on",
    r"as it says": "as described",
    r"by what": "how, or a noun",
    r"what became of": "compare, or a noun",
    r"(?-i:is none|are none)": "is not a, does not exist",
    r"turn(?:s|ed)? (?:it |them |the order )?round": "reverse",
    r"be had": "be loaded, be read, is available",
    r"stands? (?:beside|behind|below|above|in|at|there|here|aside)": "is, appears, follows",
    r"called like": "named like",
    r"an? \w+ an? (?:token|line|sample|step|rank|row|command|framework|file|column)": "a ... for each ...",
    r"left aside": "left out, ignored",
    r"has not,|have not,": "lacks, does not have",
    r"the other way round": "the inverse, the reverse",
}
PHRASES = re.compile("|".join(rf"\b(?:{phrase})(?!\w)" for phrase in BANNED), re.IGNORECASE)

DOCUMENTS = sorted(
    path for pattern in ("*.md", "docs/**/*.md", "examples/**/*.md", "src/**/*.md") for path in ROOT.glob(pattern)
)
ROOMS = sorted({path.relative_to(PACKAGE).parts[0] for path in PACKAGE.rglob("*.py")})


def phrases_in(text: str) -> list[str]:
    """The banned phrases of a text, code aside."""
    prose = re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.DOTALL)
    return [match[0] for match in PHRASES.finditer(prose)]


def prose_of(module: Path) -> Iterator[tuple[int, str]]:
    """The comments, docstrings and other texts of a module, with their lines."""
    kinds = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
    for token in tokenize.generate_tokens(io.StringIO(module.read_text(encoding="utf-8")).readline):
        if token.type in kinds:
            yield token.start[0], token.string


def faults(room: str) -> list[str]:
    """Where the modules of a room hold banned phrases."""
    modules = [PACKAGE / room] if room.endswith(".py") else sorted((PACKAGE / room).rglob("*.py"))
    return [
        f"{module.relative_to(ROOT)}:{line}: {phrase}"
        for module in modules
        for line, text in prose_of(module)
        for phrase in phrases_in(text)
    ]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_documents_say_who_does_what(document: Path) -> None:
    assert phrases_in(document.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_say_who_does_what(room: str) -> None:
    assert faults(room) == []


def test_comments_of_the_page_say_who_does_what() -> None:
    modules = [path for path in (ROOT / "web/src").rglob("*.ts*") if not path.name.endswith(".gen.ts")]
    comments = [
        (module, comment)
        for module in modules
        for comment in re.findall(r"/\*.*?\*/|(?<![:\"'`])//[^\n]*", module.read_text(encoding="utf-8"), re.DOTALL)
    ]
    assert len(comments) > len(modules)
    assert [(module.name, phrases) for module, comment in comments if (phrases := phrases_in(comment))] == []


@pytest.mark.parametrize(
    "text", ["It is said once.", "the formats that there are", "One that holds a run is gone on with.", "a file a rank"]
)
def test_the_check_finds_such_phrases(text: str) -> None:
    assert phrases_in(text) != []


def test_code_is_no_prose() -> None:
    assert phrases_in("Run `told` or ```sh\nis said\n```.") == []
