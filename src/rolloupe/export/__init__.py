"""What is made of runs: other layouts.

Asks the questions that every face asks, writes where it was told to and nowhere else.
"""

from rolloupe.export.convert import Conversion, Convertible, check, convert

__all__ = ["Conversion", "Convertible", "check", "convert"]
