"""Why each sample of a finding is there, in words."""

from rolloupe.insight.findings import Finding, ReadingList
from rolloupe.insight.findings.trend import Prevalence
from rolloupe.mcp.tools.insight import reasons

SAMPLES = ReadingList([("a", "b")], "c", "d")


def reasons_of(effect: float, correct: str) -> dict[str, str]:
    of = Finding(
        text="", kind="watch", effect=effect, z=9.0, first=0.0, last=1.0, rise=0.0,
        prevalence=Prevalence([], [], [], []), samples=SAMPLES,
    )  # fmt: skip
    return dict(reasons(of, correct))


def test_of_what_is_punished_the_sibling_with_less_won() -> None:
    paid, punished = reasons_of(0.2, "acc"), reasons_of(-0.2, "")
    assert paid["a"] == "pair 1: has more of it and the better reward, though it is no more correct than the next"
    assert punished["a"] == "pair 1: has less of it and the better reward", "nothing says what is correct"
    assert punished["b"] == "pair 1: its sibling with more of it and the worse reward"
    assert (paid["d"], punished["d"]) == (
        "a counterexample: has it, and a worse reward than its siblings",
        "a counterexample: has less of it, and a worse reward than its siblings",
    )
