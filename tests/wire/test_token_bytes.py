"""A page of tokens in bytes: the golden file that the browser's decoder is tested on, and what a route answers."""

import math
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import numpy as np
import pytest
from numpy.typing import NDArray

import rolloupe
from rolloupe import query, tokens
from rolloupe.index import Library
from rolloupe.query import TokenPage, UpdateMass
from rolloupe.query.tokens.page import TokenSpans
from rolloupe.record import Recorder
from rolloupe.server.app import App
from rolloupe.wire import token_bytes
from tests.index.support import eventually
from tests.server.support import BEARER, Answer, ask, decoded, get, lines, opened, row, run_path, served

GOLDEN = Path(__file__).parents[1] / "data/wire/tokens.bin"
LONG = 131_072


def ints(*values: int) -> NDArray[np.int32]:
    return np.array(values, dtype=np.int32)


def golden_page() -> TokenPage:
    """A page with every kind of array, and values that are easily lost."""
    return TokenPage(
        total=9,
        start=2,
        stop=7,
        ids=np.array([12, -1, 2**31 - 1, 0, 7]),
        strings=["", "Ġab", "é", "\U0001f600", "\n"],
        spans=TokenSpans(ints(0, 1, 1, 1, 1), ints(-1, 0, 0, 1, 1), ints(-1, 0, 3, 0, 2), ints(-1, 3, 4, 2, 5)),
        series={
            "logprobs": np.array([math.nan, -0.1, -math.inf, 1e300, -0.0]),
            "série \U0001f600": np.array([1.0, 2.0, 3.0, 4.0, 5.0]),
            "prob_delta_difference": np.array([0.0, 0.0, -0.5, 0.0, 0.0]),
        },
        origins={"logprobs": "recorded", "série \U0001f600": "recorded", "prob_delta_difference": "difference"},
        rules=[(tokens.CLIP, "importance_ratio"), (tokens.DPPO, "prob_delta")],
        updates=["reinforce", "dapo"],
        spelling="bytes",
        partial={7: b"\xf0\x9f"},
    )


def test_the_golden_file_is_what_is_packed_now() -> None:
    """With ROLLOUPE_WRITE_GOLDEN=1 the file is written; the browser's decoder is tested on it."""
    packed = token_bytes.encoded("train/3/g/0", golden_page())
    if os.environ.get("ROLLOUPE_WRITE_GOLDEN"):
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_bytes(packed)
    assert GOLDEN.read_bytes() == packed
    found = decoded(packed)
    np.testing.assert_array_equal(found.arrays["series", "logprobs"], golden_page().series["logprobs"])
    assert found.header["arrays"][0]["dtype"] == "i4"


def test_ids_that_need_more_bits_and_a_page_of_nothing() -> None:
    page = golden_page()._replace(ids=np.array([2**31, -1, 5, 6, 2**52]))
    ids = decoded(token_bytes.encoded("x", page)).arrays["ids", "ids"]
    assert (ids.dtype.str, ids.tolist()) == ("<f8", [2.0**31, -1.0, 5.0, 6.0, 2.0**52])
    spans = TokenSpans(ints(), ints(), ints(), ints())
    empty = decoded(token_bytes.encoded("x", TokenPage(0, 0, 0, None, None, spans, {}, {}, [], [])))
    assert empty.header["count"] == 0 and list(empty.arrays) == [("span", n) for n in ("turn", "part", "start", "stop")]


def test_a_string_of_a_table_of_shares_is_cut() -> None:
    assert token_bytes.pushed("x" * 10**6, UpdateMass()).name == "x" * 1000


def test_each_row_of_positions_has_as_many_as_all_before_it() -> None:
    some = {position: UpdateMass(tokens=1, up=float(position)) for position in (0, 3, 7, 8, 15, 16, 1024, 1995)}
    rows = token_bytes.pushed_by_position(some)
    assert [(row.name, row.tokens, row.up) for row in rows] == [
        ("0–7", 3, 10.0), ("8–15", 2, 23.0), ("16–31", 1, 16.0), ("1,024–2,047", 2, 3019.0)
    ]  # fmt: skip


@pytest.fixture(scope="module")
def long_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """A recorded sample of 131,072 tokens, the first 1,024 of the prompt, with four series."""
    folder = tmp_path_factory.mktemp("long") / "run"
    random = np.random.default_rng(3)
    response = LONG - 1024
    with Recorder(folder) as recorder:
        recorder.sample(
            step=0,
            prompt="p",
            response="x" * response,
            token_ids=np.arange(LONG),
            tokens=["x"] * response,
            prompt_tokens=1024,
            series={name: random.normal(size=response) for name in ("logprobs", "entropy", "ref_logprobs")},
        )
    with opened(folder, tmp_path_factory.mktemp("index")) as library:
        yield library


def asked(app: App, id: str, **query: object) -> Answer:
    return get(app, f"{run_path(app)}/sample/tokens?{urlencode({'id': id, **query})}")


def only_id(app: App) -> str:
    (one,) = get(app, f"{run_path(app)}/samples?split=train").json["samples"]
    name: str = one["id"]
    return name


def test_131072_tokens_come_in_pages_that_join_to_the_whole(long_run: Library) -> None:
    app = served(long_run)
    sample_id = only_id(app)
    began = time.monotonic()
    whole = decoded(asked(app, sample_id).body)
    assert (whole.header["total"], whole.header["count"]) == (LONG, LONG)
    pages = [decoded(asked(app, sample_id, start=at, count=20_000).body) for at in range(0, LONG, 20_000)]
    assert time.monotonic() - began < 20
    assert [page.header["start"] for page in pages] == list(range(0, LONG, 20_000))
    for key, values in whole.arrays.items():
        if key[0] != "text":
            np.testing.assert_array_equal(np.concatenate([page.arrays[key] for page in pages]), values)
    assert whole.arrays["ids", "ids"].tolist() == list(range(LONG))
    logprobs = whole.arrays["series", "logprobs"]
    assert np.isnan(logprobs[:1024]).all() and np.isfinite(logprobs[1024:]).all()
    starts = whole.arrays["span", "start"]
    assert (starts[:1024] == -1).all() and starts[1024:].tolist() == list(range(LONG - 1024))
    text, ends = whole.arrays["text", "bytes"].tobytes(), whole.arrays["text", "ends"]
    assert text == b"x" * (LONG - 1024) and ends[1024] == 1 and ends[-1] == LONG - 1024


def test_a_client_that_has_a_page_gets_no_second_one(long_run: Library) -> None:
    app = served(long_run)
    sample_id = only_id(app)
    first = asked(app, sample_id, start=5, count=3)
    query = urlencode({"id": sample_id, "start": 5, "count": 3})
    path = f"{run_path(app)}/sample/tokens?{query}"
    again = get(app, path, if_none_match=first.headers["etag"])
    assert (first.status, first.headers["content-type"], again.status, again.body) == (
        200, "application/octet-stream", 304, b"",
    )  # fmt: skip


@pytest.mark.parametrize(
    "query",
    [
        {"start": -1}, {"start": LONG + 1}, {"start": 2**70}, {"start": "x"}, {"start": "1e3"}, {"count": 0},
        {"count": -5}, {"count": 262_145}, {"count": "٣"}, {"start": 2**63, "count": 2**63},
    ],
)  # fmt: skip
def test_a_range_that_makes_no_sense_is_refused(long_run: Library, query: dict[str, object]) -> None:
    app = served(long_run)
    assert asked(app, only_id(app), **query).status == 400


def test_the_end_is_an_empty_page_and_beyond_it_is_cut(long_run: Library) -> None:
    app = served(long_run)
    sample_id = only_id(app)
    assert decoded(asked(app, sample_id, start=LONG).body).header["count"] == 0
    assert decoded(asked(app, sample_id, start=LONG - 2, count=50).body).header["count"] == 2
    assert asked(app, "train/0/nothing/0").status == 404
    assert get(app, f"{run_path(app)}/sample/tokens").status == 400


def test_a_sample_without_tokens_has_a_page_without_arrays(tmp_path: Path) -> None:
    path = tmp_path / "run/rollout_result/train/0.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(lines([row(0, 0)]))
    with opened(tmp_path / "run", tmp_path / "index") as library:
        app = served(library)
        found = decoded(asked(app, only_id(app)).body)
        assert (found.header["total"], {kind for kind, _ in found.arrays}) == (0, {"span"})
        assert quote(found.header["id"], safe="/") == only_id(app)


def test_the_alternatives_of_a_token_have_a_route_and_a_flag(tmp_path: Path) -> None:
    with Recorder(tmp_path / "run", code=None) as recorder:
        shared: dict[str, Any] = {"step": 0, "prompt": "p", "token_ids": [5, 6, 7]}
        listed = [[("\ud800", -3.0), ("b", -0.5)], {"x" * 2000: -1.0}]
        recorder.sample(**shared, index=0, response="ab", tokens=["a", "b"], top_logprobs=listed)
        recorder.sample(**shared, index=1, response_tokens=2, top_logprobs=[{6: -0.1, 9: -2}, None])
        recorder.sample(**shared, index=2)
    with opened(tmp_path / "run", tmp_path / "index") as library:
        app = served(library)
        ids = [one["id"] for one in get(app, f"{run_path(app)}/samples?split=train").json["samples"]]
        first, of_ids, without = sorted(ids, key=lambda one: one[-1])

        def answer(id: str, token: object) -> Answer:
            return get(app, f"{run_path(app)}/sample/top-logprobs?{urlencode({'id': id, 'token': token})}")

        def pairs(id: str, token: int) -> list[tuple[str, float, bool]]:
            found = answer(id, token).json["alternatives"]
            return [(one["text"], one["logprob"], one["is_chosen"]) for one in found]

        flags = [decoded(asked(app, one).body).header["has_alternatives"] for one in (first, of_ids, without)]
        assert flags == [True, True, False]
        assert pairs(first, 0) == [] == pairs(without, 2)
        assert pairs(first, 1) == [("b", -0.5, False), ("\ufffd", -3.0, False)]
        assert pairs(first, 2) == [("x" * 1000, -1.0, False)]
        assert pairs(of_ids, 1) == [("6", -0.1, True), ("9", -2.0, False)] and pairs(of_ids, 2) == []
        assert [answer(first, wrong).status for wrong in (3, -1, "x", 2**70)] == [400] * 4
        assert answer("train/0/nothing/0", 0).status == 404


def test_a_rule_answers_what_the_step_does_to_the_tokens_of_a_sample_and_of_its_step(
    demo_index: Path, short_grpo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(short_grpo, demo_index) as library:
        app, sample_id = served(library), "train/0/00/0"
        page = decoded(asked(app, sample_id).body)
        own, *others = page.header["updates"]
        assert (own["name"], own["is_of_run"], own["read_from"]) == ("dapo", True, "clip_low, clip_high")
        assert (own["thresholds"], own["kl_weight"]) == ({"low": 0.2, "high": 0.28}, 0.01)
        assert others[0]["name"] == "reinforce" and not any(one["is_of_run"] for one in others)
        assert {(one["kl_weight"], one["aggregation"]) for one in others} == {(0.01, None)}
        assert [rule["is_of_run"] for rule in page.header["rules"]] == [True, *[False] * 6]
        update = decoded(asked(app, sample_id, rule="dapo", **{"threshold.high": 0.3}).body)
        assert list(update.arrays) == [("update", "coefficients"), ("update", "effects")]
        assert update.arrays["update", "effects"].tolist() == [0] * 39 + [1] * 62  # an advantage above 0
        whole = update.header["update"]["whole"]
        np.testing.assert_allclose(whole["up"], update.arrays["update", "coefficients"][39:].sum())
        part = decoded(asked(app, sample_id, rule="dapo", start=40, count=2).body).arrays["update", "coefficients"]
        np.testing.assert_array_equal(part, update.arrays["update", "coefficients"][40:42])
        of_step = get(app, f"{run_path(app)}/update?split=train&step=0&rule=ppo").json
        assert of_step["samples"] == len(of_step["by_sample"]) == 16
        assert 15 < of_step["effective_samples"] <= 16
        assert of_step["left_out"] == {"no logprobs": 144}
        address = f"{run_path(app)}/update?split=train&step=0&rule=ppo&threshold.high=0&against=ppo"
        compared = get(app, f"{address}&against.threshold.high=9&against.threshold.low=9").json
        assert [one["differing"] for one in compared["differing"]] == sorted(
            (one["differing"] for one in compared["differing"]), reverse=True
        )
        out = {one["name"]: one["taken_out"] for one in compared["by_sample"] if one["taken_out"]}
        assert {one["id"]: one["differing"] for one in compared["differing"]} == out
        assert of_step["differing"] == [] and compared["differing_samples"] == len(out) > 0
        assert get(app, f"{address}&against.threshold.x=9").status == 400
        sizes = [one["up"] + one["down"] + one["lost"] for one in of_step["by_sample"]]
        assert sizes == sorted(sizes, reverse=True)
        assert sum(one["tokens"] for one in of_step["by_group"]) == of_step["whole"]["tokens"]
        with monkeypatch.context() as patch:  # another rule reads nothing again
            patch.setattr(query, "whole", pytest.fail)
            other = get(app, f"{run_path(app)}/update?split=train&step=0&rule=importance_sampling").json
            assert other["whole"]["tokens"] == of_step["whole"]["tokens"] and other["whole"] != of_step["whole"]
        monkeypatch.setattr("rolloupe.server.routes.tokens.MAX_READ", 20)
        assert get(app, f"{run_path(app)}/update?split=train&step=0&rule=gspo").status == 200  # kept
        ask(app, "POST", "/api/cache/clear", BEARER)
        refused = get(app, f"{run_path(app)}/update?split=train&step=0&rule=cispo")
        assert refused.status == 400 and "has 160 samples, and one answer reads at most 20" in refused.json["error"]
        for wrong in ("rule=x", "rule=ppo&threshold.x=1", "rule=ppo&threshold.low=nan", "rule=ppo&weights=x", ""):
            assert get(app, f"{run_path(app)}/update?split=train&step=0&{wrong}").status == 400, wrong


def test_the_worst_tokens_of_a_run_a_step_and_a_group(
    tmp_path: Path, demo_index: Path, demo_runs: Path, short_grpo: Path
) -> None:
    board = demo_runs / "other_formats/rl_logging_board/gen_train_toy"
    with rolloupe.open(board, index_dir=tmp_path) as runs:
        (run,) = runs
        worst = run.worst_tokens("kl_k3", limit=5)
        (step, *_) = {one.key.step for one in worst.tokens}
        of_step = run.worst_tokens("kl_k3", split="train", step=step, limit=3)
        first = worst.tokens[0]
        assert [one.value for one in worst.tokens] == sorted((one.value for one in worst.tokens), reverse=True)
        assert of_step.tokens[0].value <= first.value
        sample = run.sample(first.key)
        assert sample.tokens["kl_k3"][first.token].as_py() == pytest.approx(first.value)
        assert sample.tokens["text"][first.token].as_py() == first.token_string
        assert run.worst_tokens("kl_k3", highest=False, limit=1).tokens[0].value <= first.value
    with rolloupe.open(short_grpo, index_dir=demo_index) as runs:
        of_run = runs[0].worst_tokens("kl_k3")  # whose series annotations hold
        assert of_run.tokens[0].value >= runs[0].worst_tokens("kl_k3", split="train", step=0).tokens[0].value > 0
    with opened(board, tmp_path) as library:
        app = served(library)
        eventually(lambda: library.runs[0].wait_all(30))
        address = f"{run_path(app)}/worst-tokens?series=kl_k3"
        answer = get(app, f"{address}&limit=5").json
        assert [(one["id"], one["token"]) for one in answer["tokens"]] == [
            (str(one.key), one.token) for one in worst.tokens
        ]
        assert answer["coverage"] == {"samples": 48, "pending": 0, "unread": 0}
        group = get(app, f"{address}&split=train&step={first.key.step}&group={quote(first.key.group)}").json
        assert group["tokens"][0]["value"] <= first.value and group["coverage"]["samples"] <= 8
        assert get(app, f"{address}&side=middle").status == 400 and get(app, f"{address}&limit=0").status == 400
        assert get(app, f"{run_path(app)}/worst-tokens").status == 400
