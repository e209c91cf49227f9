"""The types of the page say what `wire` says."""

import re
from pathlib import Path

import msgspec
import pytest
from tools import typescript

FOLDER = Path(__file__).parents[2] / "web/src/api"


def test_the_committed_types_are_the_generated_ones() -> None:
    assert typescript.main(["--check", str(FOLDER)]) == 0, "python -m tools.typescript --write web/src/api"


def test_every_record_is_an_interface_with_all_its_fields() -> None:
    text = typescript.generate()
    records = [record.cls for _, record in typescript.structs()]
    assert len(records) > 20
    for record in records:
        body = re.search(rf"^export interface {record.__name__} {{\n(.*?)^}}", text, re.MULTILINE | re.DOTALL)
        assert body is not None, record
        fields = re.findall(r"^  (\w+)\??: ", body[1], re.MULTILINE)
        assert {*fields} - {"run", "version"} == {*record.__struct_encode_fields__} - {"run", "version"}


def test_words() -> None:
    text = typescript.generate()
    for line in (
        "export type WireNumber = number | string | null;",
        "  reward_mean: WireNumber[];",
        "  metrics: Record<string, WireNumber>;",
        "  reference: Reference | null;",
        "  extra: unknown;",
        "  run: RunItem | null;",
        "  /** Mean over finite rewards. */",
    ):
        assert f"{line}\n" in text
    assert "any" not in re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL).split()


def test_what_json_cannot_carry_has_no_word() -> None:
    with pytest.raises(TypeError, match="no word"):
        typescript.word(msgspec.inspect.type_info(complex))


def test_checking_and_writing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert typescript.main(["--check", str(tmp_path)]) == 1
    assert capsys.readouterr().err.count("--write") == 2
    assert typescript.main(["--write", str(tmp_path)]) == 0
    assert typescript.main(["--check", str(tmp_path)]) == 0
    assert typescript.main(["--strange"]) == 2
    assert typescript.main([]) == 0
    written = [(tmp_path / name).read_text(encoding="utf-8") for name in ("types.gen.ts", "routes.gen.ts")]
    assert capsys.readouterr().out == "\n".join(written)
