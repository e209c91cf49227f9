"""The keys of the terminal: one table for what they do, the foot of the screen and the help."""

from typing import NamedTuple

from textual.binding import Binding, BindingType


class KeyHelp(NamedTuple):
    """Keys, what they do, and the short word for the foot of the screen; without one only the help has them."""

    keys: tuple[str, ...]
    action: str
    meaning: str
    section: str
    foot: str = ""
    shown: str = ""
    """How the keys are written, if that is not as they are called."""

    @property
    def label(self) -> str:
        """The keys as a person reads them."""
        return self.shown or "/".join(self.keys)


MOVE, READ, FIND, VIEW, KEEP = "Move", "Read", "Find", "Look at", "Keep"

KEYS = (
    KeyHelp(("n",), "sample(1)", "Next sample of the list", MOVE, "n/p sample"),
    KeyHelp(("p",), "sample(-1)", "Previous sample of the list", MOVE),
    KeyHelp(("N",), "step(1)", "Next step", MOVE, "N/P step"),
    KeyHelp(("P",), "step(-1)", "Previous step", MOVE),
    KeyHelp(("tab", "right"), "focus_pane(1)", "Next pane", MOVE, "", "Tab, →"),
    KeyHelp(("shift+tab", "left"), "focus_pane(-1)", "Previous pane", MOVE, "", "Shift+Tab, ←"),
    KeyHelp(("1",), "pick('run')", "Choose a run", MOVE),
    KeyHelp(("2",), "pick('split')", "Choose a split: train, or an evaluation", MOVE),
    KeyHelp(("3",), "pick('step')", "Choose a step", MOVE),
    KeyHelp(("4",), "pick('sort')", "Sort by any number, up or down", MOVE),
    KeyHelp(("5",), "pick('fields')", "Show and hide fields", MOVE),
    KeyHelp(("L",), "follow", "Follow: go to new steps as they come", MOVE),
    KeyHelp(("j", "pagedown"), "page(1)", "Page down", READ, "", "j"),
    KeyHelp(("k", "pageup"), "page(-1)", "Page up", READ, "", "k"),
    KeyHelp(("h",), "sideways(-1)", "Left", READ),
    KeyHelp(("l",), "sideways(1)", "Right", READ),
    KeyHelp(("g", "home"), "end(False)", "Top", READ, "", "g"),
    KeyHelp(("G", "end"), "end(True)", "Bottom", READ, "", "G"),
    KeyHelp(("s",), "switch", "Text or table", READ, "s table"),
    KeyHelp(("r",), "again", "Read the run again", READ),
    KeyHelp(("f",), "find", "Find in the sample; Enter: next, then further samples", FIND, "f find"),
    KeyHelp(("escape",), "clear", "Clear what was found, or close", FIND, "", "Esc"),
    KeyHelp(("slash",), "search", "Search the run", FIND, "/ search", "/"),
    KeyHelp(("F",), "filter", "Filter the samples: reward < 0.1 and turns > 3", FIND, "F filter"),
    KeyHelp(("t",), "tokens", "Tokens of the sample", VIEW, "t tokens"),
    KeyHelp(("v",), "group", "Group side by side", VIEW, "v group"),
    KeyHelp(("V",), "groups", "Groups in the list, with the reward of each answer; or samples", VIEW),
    KeyHelp(("m",), "metrics", "Metrics", VIEW, "m metrics"),
    KeyHelp(("E",), "evals", "Evaluations", VIEW, "E evals"),
    KeyHelp(("D",), "discarded", "Discarded samples only, or all", VIEW, "D discarded"),
    KeyHelp(("T",), "theme", "Light or dark", VIEW),
    KeyHelp(("b",), "bookmark", "Bookmark the sample, as on the page", KEEP),
    KeyHelp(("B",), "bookmarks", "Go to a bookmarked sample", KEEP),
    KeyHelp(("y",), "copy", "Copy the id of the sample", KEEP, "y copy id"),
    KeyHelp(("ctrl+p",), "palette", "Palette: every action by its name", KEEP, "", "Ctrl+P"),
    KeyHelp(("question_mark",), "help", "All keys", KEEP, "? keys", "?"),
    KeyHelp(("q",), "app.quit", "Quit", KEEP, "q quit", "q"),
)


def _of_screen(screen: str, *keys: tuple[str, str, str]) -> tuple[KeyHelp, ...]:
    """Return the keys of a screen over the main one: how each is written, what it does, its word for the foot."""
    every = (*keys, ("?", "These keys", "? keys"), ("Esc, q", "Back", "Esc back"))
    return tuple(KeyHelp((), "", meaning, screen, foot, shown) for shown, meaning, foot in every)


TOKEN_KEYS = _of_screen(
    "Tokens",
    ("x", "Next series", "x next series"),
    ("X", "Choose a series", "X choose"),
    ("w", "Token whose value is furthest from 0, a ratio from 1; then the next", "w furthest"),
    ("u", "Coefficient of each token in the update", "u update"),
    ("↑ ↓ ← →, h/l", "Token above, below, before, after", ""),
    ("j/k g/G", "Page down and up, top and bottom", ""),
    ("n/p N/P", "Next and previous sample, next and previous step", "n/p sample"),
    ("t", "Back to the text", ""),
)
METRIC_KEYS = _of_screen(
    "Metrics",
    ("↑ ↓", "Curve", ""),
    ("← →, h/l", "Step", ""),
    ("Enter", "Open the samples of the step, or of the nearest that has some", ""),
)
GROUP_KEYS = _of_screen(
    "Group",
    ("← →, h/l, n/p", "Answer", ""),
    ("Enter", "Open the answer", ""),
    ("j/k g/G", "Page down and up, top and bottom", ""),
)
EVAL_KEYS = _of_screen(
    "Evaluations",
    ("↑ ↓", "Evaluation, or prompt", ""),
    ("Enter", "Prompts of the evaluation; of a prompt its newest answer", ""),
)
SEARCH_KEYS = _of_screen("Search", ("↑ ↓", "Sample", ""), ("Enter", "Open the sample", ""))

EVERY_KEY = (*KEYS, *TOKEN_KEYS, *METRIC_KEYS, *GROUP_KEYS, *EVAL_KEYS, *SEARCH_KEYS)


def bindings() -> "list[BindingType]":
    """Return the keys of the main screen."""
    return [Binding(",".join(one.keys), one.action, one.meaning, show=False) for one in KEYS]
