"""`rolloupe export html`."""

import base64
import contextlib
import io
import json
import os
import threading
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

import rolloupe as package
from rolloupe import query
from rolloupe.errors import BadQuery
from rolloupe.export import report
from rolloupe.export.report import contents
from rolloupe.state import State
from rolloupe.state.records import Change, SampleMark
from tests.cli.support import rolloupe
from tests.server.support import relax_run, report_data

EXPORTS = Path(__file__).parents[1] / "data/prime_rl/exports/v6_pr3189"


def data_of(file: Path) -> dict[str, Any]:
    return report_data(file.read_bytes())


def opened(packed: str) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The header of a page of tokens, and the bytes of its arrays."""
    page = zlib.decompress(base64.b64decode(packed))
    end = 16 + int.from_bytes(page[8:16], "little")
    header = json.loads(page[16:end])
    places = {one["name"]: (end + one["offset"], int(one["dtype"][1]) * one["length"]) for one in header["arrays"]}
    return header, {name: page[start : start + size] for name, (start, size) in places.items()}


def ids_of(file: Path) -> list[str]:
    return [sample["reply"]["id"] for sample in data_of(file)["samples"]]


def test_the_samples_of_a_query_with_their_tokens(short_grpo: Path, tmp_path: Path, demo_index: Path) -> None:
    target = tmp_path / "new/r.html"
    scope = (short_grpo, "--step", "0", "--split", "train", "--where", "reward > 1", "--json")
    done = rolloupe("export", "html", "-o", target, *scope, "--rule", "ppo")
    assert done.code == 0, done.err
    listed = rolloupe("query", *scope).lines
    assert ids_of(target) == [line["id"] for line in listed]
    assert done.json["samples"] == len(listed) and done.json["size_bytes"] == target.stat().st_size
    assert done.json["files"] == [str(target)]
    first = data_of(target)["samples"][0]
    header, _ = opened(first["tokens"])
    assert {one["name"] for one in header["arrays"]} >= {"logprobs", "kl_k3", "mismatch_kl"}
    assert header["rules"][0]["is_of_run"] and header["rules"][0]["limits"][1]["value"] == 0.28
    assert first["reply"]["group_size"] == 8
    assert list(first["updates"]) == [rule["name"] for rule in header["updates"]] == ["dapo", "ppo"]
    with package.open(short_grpo, index_dir=demo_index) as runs:
        sample = runs[0].sample(listed[0]["id"])
    for rule, packed in first["updates"].items():
        (info,) = (one for one in header["updates"] if one["name"] == rule)
        found = query.token_update(sample, query.UpdateChoice(rule, info["thresholds"], info["kl_weight"]))
        own, arrays = opened(packed)
        np.testing.assert_array_equal(np.frombuffer(arrays["effects"], "u1"), found.effects)
        np.testing.assert_array_equal(np.frombuffer(arrays["coefficients"], "<f4"), found.coefficients.astype("f4"))
        assert own["update"]["rule"] == rule and own["update"]["whole"]["tokens"] == found.whole.tokens > 0
        assert own["rules"] == own["updates"] == []
    unknown = rolloupe("export", "html", "-o", target, *scope, "--rule", "beauty")
    assert unknown.code == 2 and "no rule 'beauty'" in unknown.err


def test_the_worst_come_first_by_any_measure(tmp_path: Path, demo_runs: Path, demo_index: Path) -> None:
    target = tmp_path / "r.html"
    board = demo_runs / "other_formats/rl_logging_board/gen_train_toy"
    assert rolloupe("export", "html", board, "-o", target, "--worst", "5").code == 0
    by_kl = rolloupe("query", board, "--sort", "derived.max_kl", "--desc", "--where", "derived.max_kl > 0", "--json")
    assert len(ids_of(target)) == 5 and ids_of(target) == [line["id"] for line in by_kl.lines][:5]
    worst = data_of(target)
    assert (worst["measure"], worst["measure_title"]) == ("max_kl", "Max token KL")
    assert worst["about"] == "Samples of gen_train_toy: all splits, all steps."
    assert worst["part"] == f"The 5 worst of {len(rolloupe('query', board, '--json').lines)} samples."
    with package.open(board, index_dir=demo_index) as runs:
        for one, line in zip(worst["samples"], by_kl.lines, strict=False):
            measured = one["measured"]
            values = query.token_page(runs[0].sample(line["id"])).series[measured["series"]]
            assert values[measured["token"]] == pytest.approx(measured["value"])
    for words, column, reverse in (
        (("--worst", "3"), "mismatch_kl_max", True),
        (("--worst", "3", "--by", "mismatch_kl_max"), "mismatch_kl_max", True),
        (("--worst", "2", "--by", "advantage"), "advantage", True),
    ):
        assert rolloupe("export", "html", EXPORTS, "-o", target, *words).code == 0
        listed = rolloupe("query", EXPORTS, "--sort", column, *(["--desc"] if reverse else []), "--json").lines
        assert ids_of(target) == [line["id"] for line in listed][: int(words[1])]
    assert rolloupe("export", "html", EXPORTS, "-o", target, "--worst", "9", "--by", "mask_disagreement").code == 0
    found = [one["measured"] for one in data_of(target)["samples"]]
    assert len(found) == 3 and all((one["token"] is None) == (one["value"] == 0) for one in found)
    assert [one["value"] for one in found] == sorted((one["value"] for one in found), reverse=True)
    wrong = rolloupe("export", "html", EXPORTS, "-o", target, "--worst", "9", "--by", "beauty")
    assert wrong.code == 2 and "no measure 'beauty'; there are: max_kl, mask_disagreement" in wrong.err


def test_samples_without_the_measure_are_counted(short_grpo: Path, tmp_path: Path) -> None:
    done = rolloupe("export", "html", short_grpo, "-o", tmp_path / "r.html", "--step", "0", "--worst", "40")
    assert "16 of 352 samples" in done.out
    assert done.out.endswith("The other 336 samples have no max_kl, so they are not among the worst.\n")


def test_nothing_is_written_where_no_sample_has_the_measure(demo_runs: Path, tmp_path: Path) -> None:
    done = rolloupe("export", "html", demo_runs / "other_formats/trl", "-o", tmp_path / "r.html", "--worst", "5")
    assert done.code == 1 and "no sample has max_kl" in done.err
    assert not (tmp_path / "r.html").exists()


def test_a_report_for_standard_output(demo_runs: Path, tmp_path: Path) -> None:
    target = tmp_path / "r.html"
    few = ("export", "html", demo_runs / "other_formats/trl", "--record", "0", "--no-findings", "-o")
    done = rolloupe(*few, "-")
    target.write_text(done.out)
    assert len(ids_of(target)) == 2
    assert done.err.startswith("2 of 2 samples, 0 tokens, ")
    none = rolloupe("export", "html", demo_runs / "other_formats/trl", "--where", "reward > 99", "-o", "-")
    assert (none.code, none.out) == (1, "") and "nothing was written" in none.err


def test_a_report_changes_neither_devices_nor_links(demo_runs: Path, tmp_path: Path) -> None:
    few = ("export", "html", demo_runs / "other_formats/trl", "--record", "0", "--no-findings", "-o")
    os.mkfifo(tmp_path / "pipe")
    reader = threading.Thread(target=(tmp_path / "pipe").read_bytes, daemon=True)
    reader.start()
    assert rolloupe(*few, tmp_path / "pipe").code == 0
    reader.join(10)
    assert (tmp_path / "pipe").is_fifo() and not reader.is_alive()
    (tmp_path / "link").symlink_to(tmp_path / "there")
    assert rolloupe(*few, tmp_path / "link").code == 0
    assert (tmp_path / "link").is_symlink() and len(ids_of(tmp_path / "there")) == 2


def test_an_address_is_no_place_to_write_to(demo_runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = demo_runs / "other_formats/trl"
    for words in (("export", "html", run, "-o", "s3://b/r"), ("convert", run, "s3://b/r", "--to", "relax")):
        done = rolloupe(*words)
        assert done.code == 3 and "s3://b/r is in an object store" in done.err
    assert not list(tmp_path.iterdir())


def test_options_choose_by_rank_record_environment_and_tokens(tmp_path: Path) -> None:
    target = tmp_path / "r.html"
    every = rolloupe("query", EXPORTS, "--json").lines
    assert rolloupe("export", "html", EXPORTS, "-o", target, "--rank", "1").code == 0
    assert ids_of(target) == [line["id"] for line in every if line["index"].startswith("1-")]
    assert rolloupe("export", "html", EXPORTS, "-o", target, "--record", "0", "--no-tokens").code == 0
    assert data_of(target)["samples"][0]["tokens"] is None
    none = rolloupe("export", "html", EXPORTS, "-o", target, "--env", 'no"such')
    assert none.code == 1 and "No sample matches" in none.err
    file = next(EXPORTS.glob("**/rank_0.jsonl"))
    assert rolloupe("export", "html", file, "-o", target, "--all-records").code == 0
    assert len(ids_of(target)) == sum(line["index"].startswith("0-") for line in every)


def test_many_samples_need_a_folder_and_link_to_each_other(
    short_grpo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "PART_BYTES", 40_000)
    words = ("export", "html", short_grpo, "--step", "0", "--split", "train", "--all-records")
    refused = rolloupe(*words, "-o", tmp_path / "r.html")
    assert refused.code == 2 and "Next: name a folder" in refused.err and not (tmp_path / "r.html").exists()
    done = rolloupe(*words, "-o", f"{tmp_path / 'parts'}/", "--json")
    files = [Path(file) for file in done.json["files"]]
    assert [file.name for file in files][:2] == ["index.html", "part-2.html"]
    links = [data_of(file)["next_file"] for file in files]
    assert links == [*(file.name for file in files[1:]), ""]
    assert sum(len(ids_of(file)) for file in files) == done.json["samples"] == 160
    held = len(ids_of(files[0]))
    assert data_of(files[0])["part"] == f"The first {held} of 160 samples."
    assert data_of(files[1])["part"] == f"Samples {held + 1} to {held + len(ids_of(files[1]))} of 160."


def test_a_limit_is_said(short_grpo: Path, tmp_path: Path) -> None:
    done = rolloupe("export", "html", short_grpo, "-o", tmp_path / "r.html", "--no-tokens")
    assert "100 of 1,792 samples" in done.out
    assert "--all-records" in done.out
    assert data_of(tmp_path / "r.html")["part"] == "The first 100 of 1,792 samples."


def test_an_open_file_begins_before_samples_are_read_and_gets_findings_behind_them(
    short_grpo: Path, demo_index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at: dict[str, int] = {}
    sink = io.BytesIO()

    def noted(what: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            at.setdefault(what, sink.tell())
            return function(*args)

        return call

    monkeypatch.setattr(contents, "insight_of", noted("findings", lambda *_: None))
    monkeypatch.setattr(query, "with_group_advantages", noted("samples", query.with_group_advantages))
    with package.open(short_grpo, index_dir=demo_index) as runs:
        done = runs[0].report(sink, package.SampleQuery(limit=3), findings=True)
    assert (done.files, done.samples, done.size_bytes) == ([], 3, len(sink.getvalue()))
    assert 0 < at["samples"] < at["findings"] < done.size_bytes
    assert report_data(sink.getvalue())["part"].startswith("The first 3 of ")


def test_a_report_that_fails_on_its_way_is_whole_and_the_error_is_raised(
    short_grpo: Path, demo_index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "PART_BYTES", 20_000)
    sink = io.BytesIO()
    no_room = pytest.raises(BadQuery, match="do not fit into one file")
    with package.open(short_grpo, index_dir=demo_index) as runs, no_room:
        runs[0].report(sink, package.SampleQuery(), findings=False)
    data = report_data(sink.getvalue())
    assert sink.getvalue().endswith(b"</html>\n") and data["samples"]
    assert "do not fit" in data["failures"][0]


def test_judged_samples_are_written_as_pairs(tmp_path: Path) -> None:
    relax_run(tmp_path / "run", steps=1)
    places = ("--index-dir", tmp_path / "index", "--state-dir", tmp_path / "state")
    args = ("export", "pairs", tmp_path / "run", *places, "-o")
    nothing = rolloupe(*args, tmp_path / "pairs.jsonl")
    assert nothing.code == 1 and "No group has both" in nothing.err and "Next: judge samples" in nothing.err
    assert not (tmp_path / "state").exists()
    with contextlib.closing(State(tmp_path / "state")) as state, package.open(tmp_path / "run") as runs:
        for number, word in ((0, "bad"), (1, "good"), (2, "good"), (4, "bad")):
            mark = Change(
                kind="sample", name=f"train/0/{number // 4}/{number}", value=SampleMark(judgement=word), seen=0
            )
            state.write(mark, runs[0].indexed())
    assert rolloupe(*args, tmp_path / "pairs.jsonl").out.startswith("2 pairs")
    pairs = [json.loads(line) for line in (tmp_path / "pairs.jsonl").read_text().splitlines()]
    assert [(one["chosen"], one["rejected"]) for one in pairs] == [("Answer 1", "Answer 0"), ("Answer 2", "Answer 0")]
    assert len(rolloupe(*args, "-").lines) == 2
    (file,) = (tmp_path / "run").rglob("*.jsonl")
    before = file.read_bytes()
    again = rolloupe(*args, tmp_path / "pairs.jsonl")
    assert again.code and "exists" in again.err and "--overwrite" in again.err
    assert rolloupe(*args, tmp_path / "pairs.jsonl", "--overwrite").code == 0
    for command in ((*args, file, "--overwrite"), ("export", "html", tmp_path / "run", *places[:2], "-o", file)):
        refused = rolloupe(*command)
        assert refused.code and "which is only read" in refused.err and file.read_bytes() == before
    judged = ("query", tmp_path / "run", "--index-dir", tmp_path / "index", "--where", "judgement = good")
    with mock.patch.dict(os.environ, ROLLOUPE_STATE_DIR=str(tmp_path / "state")):
        assert [one["judgement"] for one in rolloupe(*judged, "--json").lines] == ["good", "good"]
        rolloupe(*judged, "--to", tmp_path / "good.csv")
        (found,) = {one["run"] for one in rolloupe("agreement", tmp_path / "run", *places[:2], "--json").lines}
    assert (tmp_path / "good.csv").read_text().splitlines()[1].endswith("good")
    assert found == "run"
