"""A line to type into. Its cursor stands still: nothing is sent to the terminal while a person does nothing."""

from textual.message import Message
from textual.widgets import Input

from rolloupe.query.filter.parser import MAX_CHARS


class TypingLine(Input):
    """One line of text. Its colours are in `app.tcss`.

    It holds no more than a filter may have: each key costs the work, and the memory, of the whole line.
    """

    class Full(Message):
        """What was typed or pasted has no room."""

    def on_mount(self) -> None:
        """Have the cursor stand still."""
        self.cursor_blink = False
        self.max_length = MAX_CHARS

    def restricted(self) -> None:
        """Refuse what has no room, and tell so."""
        self.post_message(self.Full())
