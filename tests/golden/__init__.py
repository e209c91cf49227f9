"""Answers to everything that can be asked, as they were recorded: what a change of the code may not change.

The runs are copies that stay as they are, so that the bundled runs may change. `python -m tests.golden` records the
answers again; look at what it says has changed. `ANSWERS` has one file a face.
"""
