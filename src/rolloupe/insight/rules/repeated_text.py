"""Responses repeat themselves more and more."""

from rolloupe.insight.shares import RisingRule

RULE = RisingRule("derived.repeated_4grams", "Repeated 4-grams", 0.1).rule("repeated_text", "Repeated text")
