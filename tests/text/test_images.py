"""Images in records: their recognition and names, and that nothing hostile is decoded."""

import base64
import contextlib
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolloupe import text
from rolloupe.text import images


def png(width: int = 3, height: int = 2) -> bytes:
    """A red PNG; past a few thousand pixels only its header is true."""

    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    rows = (b"\0" + b"\xff\0\0" * width) * height if width * height < 10_000 else b""
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def uri(data: bytes, kind: str = "png") -> str:
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"


def test_an_image_is_known_by_its_bytes_whatever_it_is_called() -> None:
    jpeg = b"\xff\xd8\xff\xe0\0\x10JFIF\0" + bytes(9) + b"\xff\xc0\0\x0b\x08" + struct.pack(">HH", 5, 7) + bytes(9)
    gif = b"GIF89a" + struct.pack("<HH", 9, 4) + bytes(60)
    webp = b"RIFF\0\0\0\0WEBPVP8X" + bytes(8) + bytes([6, 0, 0, 7, 0, 0]) + bytes(40)
    for data, expected in [
        (png(), ("image/png", 3, 2)),
        (jpeg, ("image/jpeg", 7, 5)),
        (gif, ("image/gif", 9, 4)),
        (webp, ("image/webp", 7, 8)),
    ]:
        found = images.picture(uri(data, "svg+xml"))
        assert (found.kind, found.width, found.height) == expected
        assert found.data == data
        bare = base64.b64encode(data + bytes(60)).decode()
        assert images.is_image(bare)
        assert images.picture(bare).kind == expected[0]


@pytest.mark.parametrize(
    ("media", "why"),
    [
        (uri(png(60_000, 60_000)), "pixels"),
        (uri(b"<svg onload=alert(1)>" * 9, "svg+xml"), "not a PNG"),
        (uri(b"<html>" * 30), "not a PNG"),
        ("data:image/png,plain", "base64"),
        ("data:image/png;base64,A", "base64"),
        (uri(png())[:60], "no image/png|base64"),
        ("data:image/png;base64," + "A" * (images.MAX_BYTES * 4 // 3 + 8), "larger than"),
    ],
)
def test_what_is_not_shown_says_why(media: str, why: str) -> None:
    with pytest.raises(images.NotShown, match=why):
        images.picture(media)


STARTS = [b"", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF89a", b"RIFF0000WEBPVP8 "]


@given(st.binary(max_size=80), st.sampled_from(STARTS))
def test_no_bytes_break_the_reader(data: bytes, start: bytes) -> None:
    with contextlib.suppress(images.NotShown):
        assert images.picture(uri(start + data)).width > 0


def test_an_image_in_a_text_is_a_part_of_its_own() -> None:
    media = uri(png() + bytes(60))
    before, image, after = text.parts(f"look: {media} and say")
    assert (before.text, image.kind, image.text, image.raw, after.text) == (
        "look: ",
        "image",
        "image/png, 1 kB",
        media,
        " and say",
    )
    assert [part.kind for part in text.parts("data:image/png;base64,AAAA")] == ["text"]


@pytest.mark.parametrize(
    "content",
    [
        {"type": "image_url", "image_url": {"url": uri(png())}},
        {"type": "image_url", "image_url": uri(png())},
        {"type": "input_image", "image_url": uri(png())},
        {"type": "image", "image": uri(png())},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": uri(png() + bytes(60))}},
        {"type": "image", "source": {"data": base64.b64encode(png() + bytes(60)).decode()}},
    ],
)
def test_images_of_messages_are_found_in_every_form(content: object) -> None:
    (turn,) = text.from_messages([{"role": "user", "content": [content]}])
    (part,) = turn.parts
    assert (part.kind, part.text) == ("image", "image/png, 1 kB")
    assert images.picture(part.media).kind == "image/png"
