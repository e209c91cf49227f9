"""`rolloupe tokens`."""

import csv
import io
import json
import math
from pathlib import Path

import numpy as np
import pyarrow.csv
import pytest

import rolloupe as library
from tests.cli.support import rolloupe, row, write_run

ID = "train/0/00/0"


def test_each_token_is_an_object_with_every_series(short_grpo: Path, demo_index: Path) -> None:
    lines = rolloupe("tokens", short_grpo, ID, "--json").lines
    with library.open(short_grpo, index_dir=demo_index) as runs:
        sample = runs[0].sample(ID)
        table = sample.tokens
    assert [line["position"] for line in lines] == list(range(len(sample.token_ids)))
    assert [line["id"] for line in lines] == sample.token_ids
    assert [line["text"] for line in lines[39:42]] == ["<think>", "\n", "Tom"] and lines[0]["text"] is None
    assert [line["mask"] for line in lines] == [False] * 39 + [True] * 62
    assert [line["role"] for line in lines] == ["user"] * 39 + ["assistant"] * 62 and lines[-1]["text"] == "<|end|>"
    assert [line["mismatch_kl"] for line in lines[:39]] == [None] * 39
    for name in ("logprobs", "ref_logprobs", "entropy", "importance_ratio", "mismatch_kl", "kl_k3"):
        assert [line[name] for line in lines[39:]] == table[name].to_pylist()[39:]
    ratios = np.array([line["importance_ratio"] for line in lines[39:]])
    gaps = np.array([line["trainer_logprobs"] - line["logprobs"] for line in lines[39:]])
    np.testing.assert_allclose(ratios, np.exp(gaps), rtol=1e-6)


def test_the_worst_tokens_come_first(short_grpo: Path) -> None:
    path = short_grpo
    every = [line["kl_k3"] for line in rolloupe("tokens", path, ID, "--json").lines]
    finite = sorted((value for value in every if value is not None), reverse=True)
    worst = rolloupe("tokens", path, ID, "--json", "--worst", "kl_k3", "--limit", "5").lines
    assert [line["kl_k3"] for line in worst] == finite[:5]
    done = rolloupe("tokens", path, ID, "--worst", "kl_k3", "--limit", "2", "--series", "entropy")
    heading, first, second = done.out.splitlines()
    assert heading.split() == ["position", "id", "text", "role", "mask", "entropy", "kl_k3"]
    assert '"<answer>"' in first and "assistant" in second
    assert done.out.count("yes") == 2


def test_a_table_has_a_thousand_tokens_unless_more_are_asked_for(tmp_path: Path) -> None:
    with library.Recorder(tmp_path / "run", code=None) as recorder:
        recorder.sample(step=0, group="g", index=0, prompt="p", response="r", series={"logprobs": [-1.0] * 1_002})
    asked = ("tokens", tmp_path, "train/0/g/0")
    done = rolloupe(*asked)
    assert len(done.out.splitlines()) == 1 + 1_000
    assert "2 more of 1,002 tokens: see them with --limit, --json or --csv." in done.err
    for more, lines in ((("--limit", "1001"), 1 + 1_001), (("--json",), 1_002)):
        done = rolloupe(*asked, *more)
        assert (len(done.out.splitlines()), "more of" in done.err) == (lines, False)


def test_a_table_has_the_most_telling_columns_unless_others_are_chosen(short_grpo: Path) -> None:
    done = rolloupe("tokens", short_grpo, ID)
    heading, *rest = done.out.splitlines()
    telling = ["logprobs", "entropy", "kl_k3", "mismatch_kl"]
    assert heading.split()[:9] == ["position", "id", "text", "role", "mask", *telling] and len(rest) == 101
    assert "importance_ratio" in done.err and "more series: " in done.err and "kl_k3" not in done.err
    assert max(map(len, done.out.splitlines())) < 120
    done = rolloupe("tokens", short_grpo, ID, "--columns", "text, kl_k2,position")
    assert done.out.splitlines()[0].split() == ["text", "kl_k2", "position"] and not done.err
    chosen = rolloupe("tokens", short_grpo, ID, "--columns", "text,kl_k2", "--worst", "kl_k3", "--limit", "2", "--json")
    every = {line["position"]: line for line in rolloupe("tokens", short_grpo, ID, "--json").lines}
    worst = sorted(every.values(), key=lambda line: -math.inf if line["kl_k3"] is None else line["kl_k3"])[-1:-3:-1]
    assert chosen.lines == [{name: line[name] for name in ("text", "kl_k2")} for line in worst]
    done = rolloupe("tokens", short_grpo, ID, "--columns", "all", "--limit", "3")
    assert {"importance_ratio", "kl_k2"} < {*done.out.splitlines()[0].split()[:-1]} < {*every[0]} and not done.err
    assert rolloupe("tokens", short_grpo, ID, "--columns", "top_logprobs", "--limit", "1").out.split()[1] == "-"
    done = rolloupe("tokens", short_grpo, ID, "--columns", "text,entropie")
    assert done.code == 2 and "no column 'entropie'; the sample has: position, id, text" in done.err
    assert rolloupe("tokens", short_grpo, ID, "--columns", "text", "--series", "entropy").code == 2


def test_alternatives_are_those_of_the_record(tmp_path: Path) -> None:
    recorded = [[("a", -0.5), ("ŝ", -2.0)], [], [('"', -1.0)]]
    with library.Recorder(tmp_path / "run", code=None) as recorder:
        recorder.sample(
            step=0, group="g", index=0, prompt="p", response='ab"', tokens=["a", "b", '"'], top_logprobs=recorded,
            series={"logprobs": [-0.5, -1.0, -1.0], "token_ids": [9, 0, 1, 2]},
        )  # fmt: skip
    expected = [
        None,
        [{"text": "a", "logprob": -0.5}, {"text": "ŝ", "logprob": -2.0}],
        None,
        [{"text": '"', "logprob": -1.0}],
    ]
    with library.open(tmp_path / "run", index_dir=tmp_path / "index") as runs:
        found = runs[0].sample("train/0/g/0").tokens["top_logprobs"].to_pylist()
    assert [one and json.loads(one) for one in found] == expected
    lines = rolloupe("tokens", tmp_path, "train/0/g/0", "--json").lines
    assert [line["top_logprobs"] for line in lines] == expected
    done = rolloupe("tokens", tmp_path, "train/0/g/0", "--columns", "top_logprobs")
    assert done.out.splitlines()[1:] == ["-", '"a" -0.5, "ŝ" -2', "-", '"\\"" -1']


def test_csv_has_what_json_has(tmp_path: Path) -> None:
    with library.Recorder(tmp_path / "run", code=None) as recorder:
        recorder.sample(
            step=0, group="g", index=0, prompt="p", response='=,"\n', tokens=["=", ",", '"\n'],
            top_logprobs=[[("=", -0.5)], [], [(",", -2.0)]],
            series={"logprobs": [-0.5, math.nan, -math.inf], "token_ids": [9, 0, 1, 2]},
        )  # fmt: skip
    lines = rolloupe("tokens", tmp_path, "train/0/g/0", "--json").lines
    done = rolloupe("tokens", tmp_path, "train/0/g/0", "--csv")
    rows = [*csv.DictReader(io.StringIO(done.out))]
    assert [row["text"] for row in rows] == ["", "'=", ",", '"\n']
    for line, cells in zip(lines, rows, strict=True):
        assert [*cells] == [*line]
        shown = {name: "" if value is None else str(value) for name, value in line.items()}
        shown |= {"mask": json.dumps(line["mask"]), "text": cells["text"], "top_logprobs": cells["top_logprobs"]}
        assert cells == shown
        assert json.loads(cells["top_logprobs"] or "null") == line["top_logprobs"]
    assert [line["logprobs"] for line in lines] == [None, -0.5, None, "-Infinity"]
    assert rolloupe("tokens", tmp_path, "train/0/g/0", "--csv", "--columns", "id,role").out.split()[:3] == [
        "id,role", "9,user", "0,assistant",
    ]  # fmt: skip
    assert rolloupe("tokens", tmp_path, "train/0/g/0", "--csv", "--json").code == 2
    with library.open(tmp_path / "run", index_dir=tmp_path / "index") as runs:
        pyarrow.csv.write_csv(runs[0].sample("train/0/g/0").tokens, tmp_path / "tokens.csv")
    assert len([*csv.DictReader(io.StringIO((tmp_path / "tokens.csv").read_text()))]) == 4


def test_series_have_the_names_of_other_frameworks_too(short_grpo: Path) -> None:
    asked = ("tokens", short_grpo, ID, "--json", "--limit", "3")
    worst = rolloupe(*asked, "--worst", "kl", "--series", "inference_logprobs").lines
    assert worst == rolloupe(*asked, "--worst", "kl_k3", "--series", "logprobs").lines != []


def test_tokens_of_a_prompt_of_several_turns_are_of_the_prompt(tmp_path: Path) -> None:
    prompt = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]
    with library.Recorder(tmp_path / "run", code=None) as recorder:
        for index, asked in enumerate((prompt, prompt[1:], None)):
            recorder.sample(
                step=0, group="g", index=index, prompt=asked, response="ab",
                series={"token_ids": [7, 8, 1, 2], "logprobs": [-1.0, -2.0]}, prompt_tokens=2, tokens=["a", "b"],
            )  # fmt: skip
    for index, role in enumerate(("prompt", "user", None)):
        lines = rolloupe("tokens", tmp_path, f"train/0/g/{index}", "--json").lines
        assert [line["role"] for line in lines] == [role, role, "assistant", "assistant"]


def test_what_cannot_be_answered_says_what_can(short_grpo: Path, tmp_path: Path) -> None:
    done = rolloupe("tokens", short_grpo, ID, "--series", "entropie")
    assert done.code == 2 and "no token series 'entropie'; the sample has: logprobs" in done.err
    write_run(tmp_path, {0: [row(0)]})
    done = rolloupe("tokens", tmp_path, "train/0/0/0")
    assert done.code == 1 and "holds no token ids, strings or series" in done.err
    assert rolloupe("tokens").code == 2 and rolloupe("tokens", tmp_path).code == 2


def test_an_infinite_kl_is_the_largest(tmp_path: Path) -> None:
    with library.Recorder(tmp_path / "run", code=None) as recorder:
        for logprobs in ([-1.0, -1000.0, -3.0], [-1.0, -2.0, -3.0], [-1000.0]):
            recorder.sample(
                step=0, prompt="p", response="r", tokens=["t"] * len(logprobs),
                series={"logprobs": logprobs, "ref_logprobs": [-1.0] * len(logprobs)},
            )  # fmt: skip
    with library.open(tmp_path / "run", index_dir=tmp_path / "index") as runs:
        run = runs[0]
        assert run.wait(60, texts=True)
        first, second, third = [one.id for one in run.samples()]
        assert [one.id for one in run.samples(where="max_kl > 10")] == [first, third]
        assert [one.id for one in run.samples(sort="max_kl", limit=1)] == [second]
        for one_a_sample in (False, True):
            found = run.worst_tokens("kl_k3", one_a_sample=one_a_sample, limit=3).tokens
            assert [(str(one.key), one.token) for one in found[:2]] == [(first, 1), (third, 0)]
            assert [math.isinf(one.value) for one in found] == [True, True, False]
    (line,) = rolloupe("tokens", tmp_path, third, "--worst", "kl_k3", "--json").lines
    assert line["kl_k3"] == "Infinity"


@pytest.mark.parametrize("text", ["\x1b[2J", '"\n\t', "\u202e", "\ud800"])
def test_hostile_tokens_are_shown_as_text(text: str, tmp_path: Path) -> None:
    with library.Recorder(tmp_path / "run", code=None) as recorder:
        recorder.sample(step=0, prompt="p", response=text, tokens=[text], series={"id": [math.inf], "position": [0.5]})
    (identity,) = [line["id"] for line in rolloupe("query", tmp_path, "--json").lines]
    done = rolloupe("tokens", tmp_path, identity)
    assert done.code == 0 and "\x1b" not in done.out and "\u202e" not in done.out
    (line,) = rolloupe("tokens", tmp_path, identity, "--json").lines
    assert line["series.id"] == "Infinity" and line["id"] is None
    assert (line["series.position"], line["position"]) == (0.5, 0)
