"""The terminal: the same run, index and queries as the page, in a terminal over SSH.

Text of a run reaches the screen through one door, `widgets/lines.py`, and is never read as markup.
"""
