"""Nothing above `storage` opens, lists or asks for the state of a run's files by itself."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2] / "src/rolloupe"

FUNCTIONS = {
    "open", "os.open", "os.stat", "os.lstat", "os.scandir", "os.listdir", "os.walk", "os.path.isfile", "os.path.isdir",
    "os.path.exists", "os.path.getsize", "os.path.getmtime", "os.fstat", "os.dup", "os.pread", "io.FileIO",
}  # fmt: skip
METHODS = {
    "open",
    "read_bytes",
    "read_text",
    "is_file",
    "is_dir",
    "exists",
    "iterdir",
    "glob",
    "rglob",
    "stat",
    "lstat",
    "fileno",
}

ROOMS = ("api", "cli", "derive", "export", "formats", "index", "query", "server", "tokens", "text", "tokenizer", "wire")
EXCEPTIONS = {
    "formats/reading/field_map.py": "the file of --map is a person's own",
    "formats/reading/files.py": "asks the entries of a listing that storage made",
    "formats/testing.py": "makes runs and damages them",
    "cli/new_file.py": "the file that a command writes",
    "cli/frame.py": "the standard output, and the file that --to names",
    "export/convert.py": "the folder that it writes",
    "server/process/serve.py": "asks whether a path exists before the rooms that read are imported",
    "server/access.py": "the file of a person that says who may see what",
    "server/team/layers.py": "what the system says of the memory of the process",
    "server/team/serve.py": "the socket that it makes",
    "server/process/token_file.py": "the file with the server's token",
    "export/report/__init__.py": "the file or the folder that it writes",
    "wire/app_files.py": "the built browser app",
    **dict.fromkeys(
        ("index/catalog.py", "index/compaction.py", "index/ray_tasks.py", "index/library.py",
         "index/index_folders.py", "index/segments/derived_values.py",
         "index/segments/segment.py", "index/segments/kinds.py", "index/segments/texts.py",
         "index/shared_index.py"),
        "the index's own files",
    ),
}  # fmt: skip
OWN = {"storage.is_file", "trainer.read_text", "trainer.read_bytes", "webbrowser.open"}
"""The door itself, and functions that have the name of a method and reach no file of a run."""


NAMES = {name.rpartition(".")[2] for name in FUNCTIONS} | METHODS
"""The last words of what is looked for."""


def calls_of(path: Path) -> list[str]:
    """The calls in a module that reach the file system."""
    functions = [node.func for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)]
    called = [ast.unparse(function) for function in functions if _last_word(function) in NAMES]
    return [
        name
        for name in called
        if name not in OWN and (name in FUNCTIONS or ("." in name and name.rpartition(".")[2] in METHODS))
    ]


def _last_word(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def test_only_storage_reaches_the_files_of_a_run() -> None:
    modules = [path for room in ROOMS for path in (ROOT / room).rglob("*.py")]
    reaching = {path.relative_to(ROOT).as_posix(): calls for path in modules if (calls := calls_of(path))}
    assert {name: calls for name, calls in reaching.items() if name not in EXCEPTIONS} == {}
    assert {*EXCEPTIONS} <= {*reaching}, "an exception that none needs"


def test_the_check_can_fail(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        "import os\nos.stat('x')\nPath('x').read_bytes()\nopen('x')\nstorage.is_file('x')\nx.is_file()\n"
    )
    assert calls_of(tmp_path / "a.py") == ["os.stat", "Path('x').read_bytes", "open", "x.is_file"]
