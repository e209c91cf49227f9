"""`rolloupe show`."""

import json
from pathlib import Path

import pytest

from rolloupe import Recorder
from tests.cli.support import rolloupe, row, write_run
from tests.thoroughness import each


def test_a_sample_is_shown_with_its_facts_and_turns(demo_runs: Path) -> None:
    path = demo_runs / "other_formats/rl_logging_board/gen_train_toy"
    sample_id = rolloupe("query", path, "--json", "--limit", "1").lines[0]["id"]
    done = rolloupe("show", path, sample_id)
    assert (done.code, done.err) == (0, "")
    for word in (sample_id, "avg_kl", "token series", "logprobs", " user ", " assistant ", "What is 12 - 6?", "label"):
        assert word in done.out


def test_every_sample_of_the_demo_is_shown(demo_runs: Path) -> None:
    for path in (demo_runs / "other_formats/relax", demo_runs / "other_formats/verl_math"):
        for line in rolloupe("query", path, "--json").lines[::7]:
            assert rolloupe("show", path, line["id"]).code == 0
            record = rolloupe("show", path, line["id"], "--json").json
            assert (record["id"], record["run"]) == (line["id"], line["run"])
            assert record["row"]["reward"] == line["reward"]
            assert record["turns"]


def test_a_note_of_several_lines_keeps_them(tmp_path: Path) -> None:
    with Recorder(tmp_path, code=None) as recorder:
        try:
            json.loads("{")
        except ValueError as error:
            error.args = (f"{error}\n\x1b[2J user ",)
            recorder.error(step=0, prompt="p", error=error)
    (identity,) = [line["id"] for line in rolloupe("query", tmp_path, "--json").lines]
    shown = rolloupe("show", tmp_path, identity).out.splitlines()
    at = next(place for place, text in enumerate(shown) if text.startswith("Note: error: Traceback"))
    assert shown[at + 1].startswith('      File "') and shown[at + 2] == '        json.loads("{")'
    end = next(
        place for place, text in enumerate(shown) if text.startswith("    json.decoder.JSONDecodeError: Expecting")
    )
    assert shown[end + 1] == "    \u241b[2J user"


@pytest.mark.parametrize("times", [2, 3000])
def test_placeholders_in_a_row_are_one_with_their_number(times: int, tmp_path: Path) -> None:
    prompt = f"see {'<|image_pad|>' * times} and <image>"
    run = write_run(tmp_path, {0: [row(0, prompt=prompt)]})
    done = rolloupe("show", run, "train/0/0/0")
    assert f"see <|image_pad|> × {times:,} and <image>" in done.out
    assert rolloupe("show", run, "train/0/0/0", "--json").json["prompt_text"] == prompt


def test_raw_is_the_record_byte_for_byte(run: Path) -> None:
    done = rolloupe("show", run, "train/0/1/3", "--raw")
    line = (run / "rollout_result/train/0.jsonl").read_text().splitlines(keepends=True)[3]
    assert (done.code, done.out) == (0, line)


def test_bytes_of_a_file_whatever_they_are(run: Path) -> None:
    file = run / "rollout_result/train/0.jsonl"
    end = file.stat().st_size
    with file.open("ab") as more:
        more.write(b'{"broken": \xff\x1b[2J\n' + b"x" * 3_000_000)
    said = rolloupe("doctor", run).out
    assert f"train/0.jsonl:{end}-{end + 16}" in said
    done = rolloupe("show", run, f"train/0.jsonl:{end + 12}-{end + 16}", "--bytes")
    assert (done.code, done.out) == (0, "\x1b[2J")
    assert len(rolloupe("show", run, f"train/0.jsonl:{end + 17}-{end + 9_000_000}", "--bytes").out) == 3_000_000
    assert rolloupe("show", run, "train/0.jsonl:5", "--bytes").code == 2
    other = rolloupe("show", run, "../../etc/passwd:0-9", "--bytes")
    assert (other.code, other.out) == (1, "")


def test_json_names_numbers_that_it_has_not(hostile_run: Path) -> None:
    record = rolloupe("show", hostile_run, "train/0/0/1", "--json").json
    assert record["row"]["reward"] == "NaN"
    assert record["turns"][-1]["origin"] == "response"


def test_the_path_may_stand_in_an_option(run: Path) -> None:
    assert rolloupe("show", "--data-dir", run, "train/0/1/3").code == 0


def test_a_sample_of_several_runs_is_looked_for_in_all(demo_runs: Path, run: Path) -> None:
    assert rolloupe("show", demo_runs, run, "train/3/1/3", "--raw").code == 0
    both = rolloupe("show", demo_runs, run, "train/0/0/0", "--raw")
    assert both.code == 1
    assert "choose one with --run: relax, run" in both.err
    one = rolloupe("show", demo_runs, run, "train/0/0/0", "--run", "run", "--raw")
    assert json.loads(one.out)["response"] == "Answer 0"


@each(
    ("words", "code", "said"),
    [
        (["train/0/9/9"], 1, "no sample train/0/9/9"),
        (["nothing"], 2, "expected split/step/group/index"),
        (["train/0/0/0", "--raw", "--json"], 2, "exclude each other"),
        (["train/0/0/0", "--run", "other"], 1, "no run 'other'"),
    ],
)
def test_what_is_not_there(run: Path, words: list[str], code: int, said: str) -> None:
    done = rolloupe("show", run, *words)
    assert (done.code, done.out) == (code, "")
    assert said in done.err


def test_a_path_without_an_id(run: Path, tmp_path: Path) -> None:
    assert rolloupe("show").code == 2
    assert rolloupe("show", run).code == 2
    (tmp_path / "empty").mkdir()
    done = rolloupe("show", tmp_path / "empty", "train/0/0/0")
    assert done.code == 1
    assert "No run was found" in done.err


def test_json_has_the_token_series(short_grpo: Path) -> None:
    sample = rolloupe("show", short_grpo, "train/0/00/1", "--json").json
    assert all(len(one["values"]) == 53 for one in sample["series"]) and sample["series"]


def test_matches_of_an_expression_are_masked(tmp_path: Path) -> None:
    pad = "<|image_pad|>"
    run = write_run(tmp_path / "run", {0: [row(0, prompt=f"{pad * 3}look{pad}", response="pass pass")]})
    masked = rolloupe("show", run, "train/0/0/0", "--mask-str", r"<\|image_pad\|>")
    assert "*×3look*" in masked.out and pad not in masked.out
    assert "× 3" in rolloupe("show", run, "train/0/0/0").out
    assert rolloupe("show", run, "train/0/0/0", "--mask-str", "(").code == 2


def test_the_place_of_a_sample_is_its_bytes_or_its_number(demo_runs: Path) -> None:
    def place(path: Path) -> str:
        (line, *_) = rolloupe("query", path, "--json", "--limit", "1").lines
        shown = rolloupe("show", path, line["id"]).out.splitlines()
        return next(text.split(maxsplit=1)[1] for text in shown if text.startswith("source"))

    assert place(Path("tests/data/harbor/harbor-atif.json")) == "harbor-atif.json, record 0"
    assert ".jsonl, bytes 0 to " in place(demo_runs / "other_formats/relax")
