"""Sends the files of a run elsewhere behind the recorder, in a process of its own.

That process outlives a trainer that is killed, and sends the rest; it takes nothing from the trainer's threads.
"""

from rolloupe.record.upload.handle import Upload

__all__ = ["Upload"]
