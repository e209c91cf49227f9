"""The words of what parts of a reward pay for."""

from collections.abc import Sequence
from typing import Protocol

from rolloupe.features import Floats, Grouping
from rolloupe.insight.parts.records import PartTerm
from rolloupe.query import FeaturePieces, SampleWords

REWARD = "reward"

REST = "the rest of the reward"
"""What the parts that a run records leave of its reward."""

CANCELS = "what its parts pay for cancels out, or does not count, and nothing is learned from it"
PAYS_NOTHING = "it pays for nothing"


def term_words(form: str, *, phrase: str = "", behaviour: str = "") -> str:
    """A feature in a form of `fit.FORMS`, as a formula has it: a phrase, or the label of a behaviour."""
    what = behaviour[:1].lower() + behaviour[1:] or f"“{phrase}”"
    if form == "has":
        return f"has {what}"
    count = what if behaviour else f"uses of {what}"
    if form == "uses":
        return count
    return f"log2(1 + {count})" if form == "log" else f"min({count}, {form})"


def formula_of(name: str, terms: Sequence[PartTerm], r2: float) -> str:
    """A formula with its R²."""
    summands = [f"{abs(one.weight):.2g}·{_bracketed(one.words)}" for one in terms]
    signs = ["-" if one.weight < 0 else "+" for one in terms]
    first = ("-" if terms[0].weight < 0 else "") + summands[0]
    rest = "".join(f" {sign} {one}" for sign, one in zip(signs[1:], summands[1:], strict=True))
    return f"{name} = {first}{rest}; R² {r2:.2f}"


def _bracketed(words: str) -> str:
    return words if words.endswith(")") else f"({words})"


def unexplained(name: str, r2: float) -> str:
    """Says that no formula explains a part."""
    return f"{name}: no phrase and no behaviour explains it (R² {r2:.2f})"


def sum_of(weights: dict[str, float]) -> str:
    """Says of which parts the reward is made."""
    summands = [name if abs(abs(one) - 1) < 5e-3 else f"{abs(one):.2g}·{name}" for name, one in weights.items()]
    signs = [" - " if one < 0 else " + " for one in weights.values()]
    return "reward =" + "".join(sign + one for sign, one in zip(signs, summands, strict=True)).removeprefix(" +")


def unvaried(name: str, values: Floats, groups: int, partial: int, grouping: Grouping) -> str:
    """Says why there is no formula for a part, which `partial` of the groups have for some siblings only."""
    if not len(values):
        return f"{name}: no sample here has it"
    if grouping.sizes.max() == 1:
        return f"{name}: each sample is alone in its group, without siblings"
    if values.min() == values.max():
        return f"{name} is always {values[0]:.4g}" if name != REWARD else f"{name} never differs among siblings"
    if partial:
        known = f"differs among those of {groups:,}" if groups else "differs in no other"
        return f"{name} is recorded for only some siblings of {counted(partial)}, and {known}: too few for a formula"
    if not groups:
        return f"{name} differs between groups, but never among siblings"
    return f"{name} differs among the siblings of {counted(groups)} only, too few for a formula"


def counted(groups: int) -> str:
    """`1 group`, `2 groups`."""
    return f"{groups:,} group{'s' * (groups != 1)}"


class Known(Protocol):
    """What is known of the parts."""

    names: list[str]
    copies: list[str]
    whole: str
    has_rest: bool
    is_level: bool


def note_of(known: Known, of: SampleWords, pieces: FeaturePieces, discarded: str, *, is_fitted: bool) -> str:
    """What was looked at, in a sentence or two; `discarded` says that not all of it was trained on."""
    if not pieces.samples:
        return "There is no sample in these steps."
    if not of.size:
        pending = pieces.pending
        waits = f": {pending:,} wait for the index" if pending else ""
        return f"No sample with a reward is indexed{waits}."
    count = len(known.names) - len(known.copies)
    if not known.names:
        own = "The run records the reward as one number without parts."
    elif len(known.names) == 1 and not known.has_rest:
        own = f"The reward has one part only, {known.names[0]}."
    else:
        makes = f"; among siblings, {known.whole}" if known.whole else ""
        parts = [name for name in known.names if name not in known.copies]
        own = f"The reward has one part, {parts[0]}." if count == 1 else f"The reward has {count} parts{makes}."
        own += f" No metric records {REST}." if known.has_rest else ""
        own += "".join(f" {name} is the reward as a whole." for name in known.copies)
    if known.is_level:
        own += f" Siblings always have the same reward: {CANCELS if is_fitted else PAYS_NOTHING}."
    if not is_fitted:
        return own
    return (
        f"{own} Fitted to the differences among siblings of {of.size:,} samples; R² is measured in other groups than "
        f"those that the terms were chosen in. {discarded}"
    ).rstrip()
