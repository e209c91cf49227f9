"""More and more thoughts never end."""

from rolloupe.insight.shares import RisingRule

RULE = RisingRule("derived.unclosed_think", "Unclosed thoughts", 0.05).rule("unclosed_think", "Unclosed thoughts")
