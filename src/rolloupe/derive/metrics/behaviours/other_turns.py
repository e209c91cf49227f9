"""How often the response continues with a turn of the user, as a model does that does not end its own."""

from rolloupe.derive.base import phrase_metric

METRIC = phrase_metric(
    "other_turns", 3, "Turns of the user",
    r"\n\s*(?:\*\*)?(?:User|Human|Customer|Client|Student)(?:\*\*)?:",
    r"<\|im_start\|>\s*user|<\|start_header_id\|>\s*user|<start_of_turn>\s*user|<\|user\|>|\[INST\]",
    unit="turns", behaviour="continuing with a turn of the user",
)  # fmt: skip
