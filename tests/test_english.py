"""Plain English: subject, verb, object; whoever acts comes first. `BANNED` lists phrases that hide who does what."""

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

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


def faults(module: Path) -> list[str]:
    """Where a module holds banned phrases."""
    if not PHRASES.search(module.read_text(encoding="utf-8")):  # a search is quicker than a look at each token
        return []
    return [f"{line}: {phrase}" for line, text in prose_of(module) for phrase in phrases_in(text)]


def test_documents_say_who_does_what() -> None:
    found = {document: phrases_in(document.read_text(encoding="utf-8")) for document in DOCUMENTS}
    assert {document: phrases for document, phrases in found.items() if phrases} == {}


def test_modules_say_who_does_what() -> None:
    found = {module: faults(module) for module in sorted(PACKAGE.rglob("*.py"))}
    assert {module: phrases for module, phrases in found.items() if phrases} == {}


def test_comments_of_the_page_say_who_does_what() -> None:
    modules = [path for path in (ROOT / "web/src").rglob("*.ts*") if not path.name.endswith(".gen.ts")]
    texts = {module: module.read_text(encoding="utf-8") for module in modules}
    comments = [
        (module, comment)
        for module, text in texts.items()
        for comment in re.findall(r"/\*.*?\*/|(?<![:\"'`])//[^\n]*", text, re.DOTALL)
    ]
    assert len(comments) > len(modules)
    suspect = {module for module, text in texts.items() if PHRASES.search(text)}
    found = [(module.name, phrases_in(comment)) for module, comment in comments if module in suspect]
    assert [(name, phrases) for name, phrases in found if phrases] == []


def test_the_check_finds_such_phrases() -> None:
    for text in (
        "It is said once.",
        "the formats that there are",
        "One that holds a run is gone on with.",
        "a file a rank",
    ):
        assert phrases_in(text) != [], text


def test_the_check_looks_into_comments_and_docstrings_alone(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text('"""It is said once."""\ntold = 1  # anew\n')
    assert faults(module) == ["1: is said", "2: anew"]


def test_code_is_no_prose() -> None:
    assert phrases_in("Run `told` or ```sh\nis said\n```.") == []
