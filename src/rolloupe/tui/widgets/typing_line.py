"""A line to type into. Its cursor stands still: nothing is sent to the terminal while a person does nothing."""

from textual.widgets import Input


class TypingLine(Input):
    """One line of text. Its colours are in `app.tcss`."""

    def on_mount(self) -> None:
        """Have the cursor stand still."""
        self.cursor_blink = False
