"""One sample as it is read: its pages, its text, its images, what is found in it."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolloupe.model import Part, Sample, SampleKey, SampleRow, Turn
from rolloupe.server.app import App
from rolloupe.server.routes.sample import places_of
from rolloupe.wire import to_wire
from tests.server.support import get, lines, opened, relax_run, row, run_path, served
from tests.text.test_images import png, uri


def app_of(tmp_path: Path, *rows: dict[str, Any], **changes: Any) -> App:
    train = relax_run(tmp_path / "run", steps=0)
    (train / "0.jsonl").write_bytes(lines(rows))
    return served(opened(tmp_path / "run", tmp_path / "index"), **changes)


def asked(app: App, what: str = "", sample: int = 0) -> Any:
    path = run_path(app)
    item = get(app, f"{path}/samples?split=train&step=0").json["samples"][sample]["id"]
    name, _, query = what.partition("?")
    return get(app, f"{path}/sample{name}?id={quote(item, safe='')}&{query}")


def test_a_long_transcript_comes_in_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(to_wire, "PAGE_TURNS", 40)
    monkeypatch.setattr(to_wire, "PAGE_CHARS", 300)
    messages = [{"role": "user", "content": f"message {n}"} for n in range(99)]
    app = app_of(tmp_path, row(0, 0, prompt=messages, response="done"))
    reply = asked(app).json
    assert (reply["turn_from"], reply["turn_total"]) == (0, 100)
    assert reply["chars"] == sum(len(f"message {n}") for n in range(99)) + 4
    seen = [turn["parts"][0]["text"] for turn in reply["turns"]]
    while len(seen) < 100:
        page = asked(app, f"/turns?from={len(seen)}").json
        assert page["turn_from"] == len(seen)
        seen += [turn["parts"][0]["text"] for turn in page["turns"]]
    assert seen == [f"message {n}" for n in range(99)] + ["done"]
    last = asked(app, "/turns?until=100").json
    assert last["turn_from"] + len(last["turns"]) == 100
    assert asked(app, "/turns?from=1000").json["turns"] == []
    assert asked(app, "/turns?until=0").json["turns"][0]["parts"][0]["text"] == "message 0"


def test_the_text_is_the_records_own_or_says_that_it_is_put_together(tmp_path: Path) -> None:
    prompt = "<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\n"
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}]
    app = app_of(
        tmp_path,
        row(0, 0, prompt=prompt, response="<think>hm</think>So."),
        row(0, 1, prompt=messages, response="So."),
        row(0, 2, prompt=messages, response="So.", raw_string="<s>Why?So."),
    )
    own, put, kept = (asked(app, "/text", n).json for n in range(3))
    assert (own["text"], own["is_own"]) == (prompt + "<think>hm</think>So.", True)
    assert (put["text"], put["is_own"]) == ("[system]\nBe brief.\n\n[user]\nWhy?\n\n[assistant]\nSo.", False)
    assert (kept["text"], kept["is_own"]) == ("<s>Why?So.", True)
    assert asked(app, "/text?start=3").json["text"] == own["text"][3:]


def test_a_prompt_is_cut_at_a_token_on_demand(tmp_path: Path) -> None:
    app = app_of(tmp_path, row(0, 0, prompt="Be brief. ### Why?"))
    assert [turn["role"] for turn in asked(app).json["turns"]] == ["user", "assistant"]
    assert [turn["role"] for turn in asked(app, "?after=%23%23%23").json["turns"]] == ["system", "user", "assistant"]


def test_what_a_person_masks_is_masked_in_samples_and_groups_and_found_there(tmp_path: Path) -> None:
    app = app_of(tmp_path, row(0, 0, response="<think>a<P><P>b</think>c<P>", label="<P>"), mask_str="<P>")
    reply = asked(app).json
    think, answer = reply["turns"][1]["parts"]
    assert (think["text"], answer["text"], reply["label"]) == ("a*×2b", "c*", "*")
    assert answer["raw"] == "c<P>"
    assert asked(app, "/find?text=*").json["total"] == 3
    members = get(app, f"{run_path(app)}/members?id={quote(reply['id'], safe='')}").json
    assert members["answers"][0]["pieces"][0]["own"] == "a*×2b"
    assert asked(app, "/text").json["text"].endswith("<think>a<P><P>b</think>c<P>")


def test_images_are_given_as_images_and_never_as_text(tmp_path: Path) -> None:
    media = uri(png() + bytes(60))
    content = [{"type": "image_url", "image_url": {"url": media}}, {"type": "text", "text": f"and {media} here"}]
    huge = uri(png(60_000, 60_000) + bytes(60))
    app = app_of(
        tmp_path,
        row(0, 0, prompt=[{"role": "user", "content": content}], multimodal={"images": [media, huge], "text": "kept"}),
    )
    sample = asked(app)
    assert media[30:] not in sample.body.decode()
    reply = sample.json
    assert [part["image"] for part in reply["turns"][0]["parts"]] == [True, False, True, False]
    assert reply["extra"]["multimodal"]["text"] == "kept"
    assert len(reply["extra_images"]) == 2
    for at in ("0.0", "0.2", "extra.0"):
        image = asked(app, f"/image?at={at}")
        assert (image.status, image.headers["content-type"]) == (200, "image/png")
        assert image.headers["x-content-type-options"] == "nosniff"
        assert image.body == png() + bytes(60)
    assert "60,000 × 60,000 pixels" in asked(app, "/image?at=extra.1").json["error"]
    for at in ("0.1", "9.9", "extra.2", "ref0.0", "x", "0.-1", "0.", "²"):
        assert asked(app, f"/image?at={quote(at)}").status == 404


def test_finds_are_counted_and_placed_as_a_browser_counts(tmp_path: Path) -> None:
    app = app_of(tmp_path, row(0, 0, prompt="\U0001f600 Needle", response="a needle, (needle", label="NEEDLE"))
    reply = asked(app, "/find?text=needle").json
    assert reply["total"] == 4
    assert [(span["at"], span["start"], span["stop"]) for span in reply["spans"]] == [
        ("label", 0, 6),
        ("0.0", 3, 9),
        ("1.0", 2, 8),
        ("1.0", 11, 17),
    ]
    assert asked(app, "/find?text=needle&case=1").json["total"] == 2
    assert asked(app, "/find?text=(").json["total"] == 1
    assert asked(app, "/find?text=absent").json == {"total": 0, "spans": []}
    assert asked(app, "/find?text=").status == 400
    assert asked(app, "/find?text=" + "x" * 2000).status == 400


@given(st.text(alphabet="aA\U0001f600é\n", max_size=40), st.text(alphabet="a\U0001f600é", min_size=1, max_size=2))
def test_every_span_holds_what_was_looked_for(text: str, wanted: str) -> None:
    turns = [Turn(role="user", parts=[Part(kind="text", text=text)])]
    key = SampleKey("train", 0, "0", "0")
    line = SampleRow(split="train", step=0, group="0", index="0", ordinal=0, start=0, length=0)
    sample = Sample(key=key, row=line, locator=None, turns=turns)  # type: ignore[pyrefly:bad-argument-type]
    units = text.encode("utf-16-le")
    for span in places_of(wanted, sample, is_cased=True).spans:
        assert units[2 * span.start : 2 * span.stop].decode("utf-16-le") == wanted


def test_the_policy_is_named_in_any_known_word(tmp_path: Path) -> None:
    app = app_of(
        tmp_path,
        row(0, 0, weight_versions=[11, 11, 12], staleness=2),
        row(0, 1, policy_version="v7"),
        row(0, 2),
    )
    told = [(reply["policy_version"], reply["lag"]) for n in range(3) if (reply := asked(app, "", n).json)]
    assert told == [("11 to 12", 2), ("v7", None), ("", None)]


def test_what_a_message_says_beside_its_content_stays(tmp_path: Path) -> None:
    messages = [{"role": "tool", "content": "no such file", "is_error": True, "logs": {"seconds": float("nan")}}]
    app = app_of(tmp_path, row(0, 0, prompt=messages))
    assert asked(app).json["turns"][0]["logs"] == {"is_error": True, "logs": {"seconds": "NaN"}}
