"""The rules of the house: who imports whom, what is loaded when, which names are public, what the documents list."""

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from tools import house_figures

import rolloupe
from rolloupe.demo import RUNS
from rolloupe.errors import defect
from rolloupe.formats import BUILT_IN
from tests import sleeps

ROOT = Path(__file__).parents[1]
HEAVY = (
    "anyio",
    "duckdb",
    "mcp",
    "numpy",
    "obstore",
    "pandas",
    "pyarrow",
    "pyarrow.compute",
    "sqlite3",
    "starlette",
    "textual",
    "uvicorn",
)

CONTRACTS = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
COMMAND = """
import contextlib, io, runpy
sys.argv = {arguments!r}
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
    runpy.run_module("rolloupe", run_name="__main__")
"""
WRITING = """
import tempfile
from rolloupe.record.writers import prime_rl
folder = tempfile.mkdtemp()
sample = {"prompt": "p", "response": "r", "reward": 1.0}
relax.save_rollout_result_jsonl(folder, 0, [sample], strict=True)
rl_logging_board.save_rollout_jsonl(folder, 0, [sample], strict=True)
batch = {"input_ids": [1, 2], "position_ids": [0, 1], "loss_mask": [False, True]}
with prime_rl.setup_token_export(folder, strict=True) as exporter:
    assert exporter.export(0, batch) == 1
"""
LIGHT = {
    "the package": "import rolloupe, rolloupe.model, rolloupe.errors",
    **{
        f"rolloupe.{module}": f"import rolloupe.{module}"
        for module in ("record", "record.integrations", "record.logtree", "record.writers.tinker")
    },
    **{
        f"rolloupe {command} --help": COMMAND.format(arguments=["rolloupe", *command.split(), "--help"])
        for command in ("", "view", "tui", "mcp", "demo", "ls", "show", "query", "doctor", "convert")
    },
    "rolloupe.record.writers": "from rolloupe.record.writers import relax, rl_logging_board",
    "writing": WRITING,
    "the index": "from rolloupe.index.execution import keep_pandas_out; keep_pandas_out(); import rolloupe.query",
    "rolloupe ls": COMMAND.format(arguments=["rolloupe", "ls", f"{RUNS}/other_formats/relax"]),
    "what is heavy": "import duckdb",
}
"""Pieces of code that run one after another in one interpreter: what one loads, the next ones have as well."""


@cache
def texts() -> dict[Path, str]:
    """Return the modules of the package."""
    return {path: path.read_text(encoding="utf-8") for path in sorted((ROOT / "src/rolloupe").rglob("*.py"))}


@pytest.fixture(scope="module")
def parsed() -> Iterator[dict[Path, ast.Module]]:
    """The modules of the package, parsed; later tests do without so many objects."""
    yield house_figures.modules()
    house_figures.modules.cache_clear()
    house_figures.nodes.cache_clear()


@pytest.fixture(scope="module")
def loaded() -> dict[str, set[str]]:
    """The heavy modules that a fresh interpreter holds once it has run each piece of `LIGHT`."""
    report = f"print('loaded', *(name for name in {HEAVY!r} if name in sys.modules), file=sys.stderr)"
    code = "\n".join(["import sys", *(f"{piece}\n{report}" for piece in LIGHT.values())])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    reports = [line.split()[1:] for line in done.stderr.splitlines() if line.startswith("loaded")]
    return {name: {*modules} for name, modules in zip(LIGHT, reports, strict=True)}


def test_every_room_imports_only_from_the_floors_below() -> None:
    done = subprocess.run([sys.executable, "-c", CONTRACTS], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_a_trainer_needs_the_help_of_commands_and_a_list_of_runs_are_light(loaded: dict[str, set[str]]) -> None:
    *light, writing, index, listing, heavy = LIGHT
    assert {name: loaded[name] for name in light if loaded[name]} == {}
    assert loaded[writing] == {"numpy"} and loaded[index] == {"numpy", "pyarrow"}
    assert loaded[listing] - {"pyarrow.compute"} == loaded[index] and loaded[heavy] >= {"duckdb"}


def test_one_function_words_what_a_defect_of_ours_is() -> None:
    assert [path.name for path, text in texts().items() if "please report it" in text] == ["errors.py"]
    assert defect(KeyError("a")) == "a defect in Rolloupe, please report it: KeyError: 'a'"


def test_the_public_names_are_exactly_all() -> None:
    assert list(rolloupe.__all__) == sorted(rolloupe.__all__)
    public = {name for name in dir(rolloupe) if not name.startswith("_")}
    modules = {path.stem for path in Path(rolloupe.__file__).parent.iterdir()}
    assert public - modules == set(rolloupe.__all__) - {"__version__"} - modules


def test_every_public_name_exists() -> None:
    for name in rolloupe.__all__:
        assert getattr(rolloupe, name) is not None


NOUNS = {"encoding", "listing", "reading", "sorting", "testing", "wording"}
"""Names of modules that end like a participle and are none."""
VAGUE = {"come", "gone", "held", "said", "there", "told"}
"""Names of variables that do not say what they hold."""


def test_no_module_is_named_by_a_participle() -> None:
    names = {path.parent.name if path.stem == "__init__" else path.stem for path in texts()}
    assert {name for name in names if name.endswith(("ed", "ing"))} - NOUNS == set()


def variables_in(module: ast.Module) -> set[str]:
    """Return the names of the variables and parameters in some code."""
    nodes = house_figures.nodes(module)
    variables = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return variables | {node.arg for node in nodes if isinstance(node, ast.arg)}


def test_variables_are_named_for_what_they_hold(parsed: dict[Path, ast.Module]) -> None:
    vague = {path: variables_in(module) & VAGUE for path, module in parsed.items()}
    assert {path: names for path, names in vague.items() if names} == {}


def test_the_check_of_variables_sees_each_kind() -> None:
    code = "def f(told, *said, **held):\n    for gone in told: lambda come: (there := come)"
    assert variables_in(ast.parse(code)) == VAGUE


def test_no_name_is_bound_twice_and_no_modules_import_each_other(parsed: dict[Path, ast.Module]) -> None:
    assert house_figures.bound_twice(parsed) == [] and house_figures.circles(parsed) == []
    twice = ast.parse("LIMIT = 1\nLIMIT = 2\n")
    first, second = (house_figures.SOURCES / name for name in ("one.py", "two.py"))
    lazy = "def f():\n    from rolloupe.two import g\n"
    planted = {first: ast.parse(lazy), second: ast.parse("from rolloupe import one\n")}
    assert house_figures.bound_twice({first: twice}) == ["one.py:LIMIT"]
    assert house_figures.circles(planted) == [["rolloupe.one", "rolloupe.two"], ["rolloupe.two", "rolloupe.one"]]


def test_a_name_is_imported_from_the_module_that_makes_it_or_a_package_that_offers_it(
    parsed: dict[Path, ast.Module],
) -> None:
    assert house_figures.borrowed(parsed) == []
    codes = {
        "maker.py": "A = 1\ndef f(): pass",
        "user.py": "from rolloupe.maker import A, f",
        "query/__init__.py": "from rolloupe.maker import A",
        "late.py": "from rolloupe.user import A\nfrom rolloupe import user, query\nuser.f()\nquery.A",
    }
    planted = {house_figures.SOURCES / name: ast.parse(code) for name, code in codes.items()}
    assert house_figures.borrowed(planted) == ["rolloupe.late: rolloupe.user.A", "rolloupe.late: rolloupe.user.f"]


def test_tests_use_public_names(parsed: dict[Path, ast.Module]) -> None:
    assert house_figures.tests_with_private_names(parsed) == []
    reader = ast.parse("from rolloupe.model import _hidden\nrun._hidden()\npatch.setattr(run, '_hidden', 1)\n")
    assert sorted(house_figures.reads_of_private_names(reader, {"_hidden"})) == ["1 _hidden", "2 _hidden", "3 _hidden"]


def test_what_sleeps_is_listed() -> None:
    assert sleeps.sleeping_tests() == {*sleeps.SLEEPS}


def test_small_private_functions_and_twins_are_few(parsed: dict[Path, ast.Module]) -> None:
    assert len(house_figures.tiny_private_functions(parsed)) <= 150
    assert house_figures.twins(parsed) == []
    assert len(parsed) <= 520


def test_the_readme_lists_the_formats() -> None:
    listed = re.findall(r"^\| `([a-z_]+)` \|", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert listed == [name for name in BUILT_IN if name in listed] and len(listed) > 5


def test_the_architecture_names_every_room() -> None:
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    (floors,) = re.findall(r"^```\n(floor 6.*?)^```", text, re.MULTILINE | re.DOTALL)
    rooms = {
        path.stem
        for path in (ROOT / "src/rolloupe").iterdir()
        if path.suffix == ".py" or (path / "__init__.py").is_file()
    }
    assert {name for name in rooms if not name.startswith("_")} - {"demo"} <= set(re.findall(r"\w+", floors))


def test_the_readme_names_the_commands_that_there_are() -> None:
    from rolloupe.cli import main

    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for command in ("view", "demo", "ls", "show", "query", "doctor"):
        assert command in main.modules
        assert re.search(rf"(rolloupe|make) {command}\b|`{command}`", readme), command


def test_the_python_of_the_readme_runs(
    demo_runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, recording = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    exec(reading.replace("RUN_DIR", str(demo_runs / "other_formats/rl_logging_board/eval_poem_task")))
    printed = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in printed] == [[str(step), "128"] for step in range(0, 400, 100)]
    monkeypatch.chdir(tmp_path)
    exec(recording)
    assert recording.count("\n") <= 15
    run = rolloupe.open("runs/first", index_dir=tmp_path / "index").runs[0]
    assert [(step.step, step.samples, step.reward.mean) for step in run.steps()] == [(n, 4, 1.0) for n in range(3)]


def test_the_example_of_recording_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, *_ = re.findall(r"```python\n(.*?)```", (ROOT / "docs/recording.md").read_text(encoding="utf-8"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(code)
    run = rolloupe.open("runs/recorded", index_dir=tmp_path / "index").runs[0]
    assert [(step.step, step.samples) for step in run.steps()] == [(0, 2), (1, 2)]


def test_no_line_of_the_app_sets_html() -> None:
    banned = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|srcdoc")
    files = [*(ROOT / "web").glob("*.ts"), *(ROOT / "web/src").rglob("*.ts*")]
    sources = [path for path in files if ".test." not in path.name]
    assert len(sources) > 10
    assert [path.name for path in sources if banned.search(path.read_text(encoding="utf-8"))] == []


@pytest.mark.skipif(shutil.which("make") is None, reason="make is missing")
@pytest.mark.parametrize("index", ["", "https://wheels.example/cpu"])
def test_fetching_pytorch_is_announced_and_shown(index: str) -> None:
    words = ["make", "--dry-run", "--always-make", ".venv/.torch", f"TORCH_INDEX={index}"]
    printed = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    announced, fetched = (
        next(n for n, one in enumerate(printed) if word in one) for word in ("PyTorch", "--group live")
    )
    assert announced < fetched and "some minutes" in printed[announced]
    assert "--quiet" not in printed[fetched]
    assert (f"--index-url {index} " in printed[fetched]) if index else ("GB" in printed[announced])


def test_the_package_has_at_most_91_100_lines() -> None:
    """84,000 for what there was, 4,000 for the brief, 1,600 for speed, and 1,500 for transcripts of agents."""
    files = Path(rolloupe.__file__).parent.rglob("*.py")
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files) <= 84_000 + 4_000 + 1_600 + 1_500


def test_the_package_has_at_most_520_modules() -> None:
    assert len([*Path(rolloupe.__file__).parent.rglob("*.py")]) <= 520
