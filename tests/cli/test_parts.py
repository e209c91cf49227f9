"""`rolloupe parts`."""

from pathlib import Path

from tests.cli.support import rolloupe


def test_what_each_part_pays_for_is_a_formula_a_line_or_an_object(short_grpo: Path) -> None:
    done = rolloupe("parts", str(short_grpo))
    note, *lines = done.out.splitlines()
    assert done.code == 0 and "among siblings, reward = correct + format + checking" in note
    assert any(line.startswith("checking = 0.06·(uses of “") and "check”" in line for line in lines)
    done = rolloupe("parts", str(short_grpo), "--steps", "0:2", "--json")
    first = next(one for one in done.lines if one["name"] == "checking")
    assert {*first} == {"run", "name", "text", "terms", "r2", "spread", "groups"} and "3 parts" in done.err
    assert first["terms"][0]["pattern"].endswith(r"check(?:\b|[0-9])") and first["terms"][0]["behaviour"] == ""
