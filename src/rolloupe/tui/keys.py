"""The keys of the terminal. Each screen has one table, which gives its bindings, its help and its part of the
documents. `EarlyKeys` keeps keys that are pressed before their run, sample or screen is ready.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from textual.events import Key
from textual.screen import Screen

from rolloupe.tui.draw.numbers import count

NAMES = {
    "up": "↑", "down": "↓", "left": "←", "right": "→", "pageup": "PgUp", "pagedown": "PgDn", "home": "Home",
    "end": "End", "tab": "Tab", "shift+tab": "Shift+Tab", "ctrl+p": "Ctrl+P", "escape": "Esc", "enter": "Enter",
    "space": "Space", "slash": "/", "question_mark": "?",
    "greater_than_sign": ">", "less_than_sign": "<", "left_curly_bracket": "{", "right_curly_bracket": "}",
}  # fmt: skip
"""The written form of keys without a letter."""


class KeyHelp(NamedTuple):
    """Keys, what they do, and a short word for the foot of the screen. Without a short word, only the help lists the
    keys.
    """

    keys: tuple[str, ...]
    action: str
    meaning: str
    section: str
    foot: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The keys as a person writes them."""
        return tuple(NAMES.get(key, key) for key in self.keys)

    @property
    def label(self) -> str:
        return ", ".join(self.names)


def _scrolling(section: str, up: str = "Line up", down: str = "Line down", foot: str = "") -> tuple[KeyHelp, ...]:
    return (
        KeyHelp(("up",), "line(-1)", up, section, foot),
        KeyHelp(("down",), "line(1)", down, section),
        KeyHelp(("j", "pagedown"), "page(1)", "Page down", section),
        KeyHelp(("k", "pageup"), "page(-1)", "Page up", section),
        KeyHelp(("g", "home"), "end(False)", "Top", section),
        KeyHelp(("G", "end"), "end(True)", "Bottom", section),
    )


MOVE, READ, FIND, VIEW, KEEP = "Move", "Read", "Find", "Look at", "Keep"

KEYS = (
    KeyHelp(("n",), "sample(1)", "Next sample of the list", MOVE, "n/p sample"),
    KeyHelp(("p",), "sample(-1)", "Previous sample of the list", MOVE),
    KeyHelp(("N",), "step(1)", "Next step", MOVE, "N/P step"),
    KeyHelp(("P",), "step(-1)", "Previous step", MOVE),
    KeyHelp(("tab", "right", "l"), "focus_pane(1)", "Next pane", MOVE),
    KeyHelp(("shift+tab", "left", "h"), "focus_pane(-1)", "Previous pane", MOVE),
    KeyHelp(("1",), "pick('run')", "Choose a run", MOVE),
    KeyHelp(("2",), "pick('split')", "Choose a split: train, or an evaluation", MOVE),
    KeyHelp(("3",), "pick('step')", "Choose a step", MOVE),
    KeyHelp(("4",), "pick('sort')", "Sort by any number, up or down", MOVE),
    KeyHelp(("5",), "pick('fields')", "Show and hide fields", MOVE),
    KeyHelp(("6",), "pick('dataset')", "Choose a dataset, or an environment, within the split", MOVE),
    KeyHelp(("7",), "evidence(0)", "What the first sentence above the samples is about", MOVE),
    KeyHelp(("8",), "evidence(1)", "What the second is about", MOVE),
    KeyHelp(("9",), "evidence(2)", "What the third is about", MOVE),
    KeyHelp(("greater_than_sign",), "along(1)", "Along the curve of the first line: its next step", MOVE),
    KeyHelp(("less_than_sign",), "along(-1)", "Its previous step", MOVE),
    KeyHelp(("right_curly_bracket",), "prompt_step(1)", "The same prompt at the next step where it appears", MOVE),
    KeyHelp(("left_curly_bracket",), "prompt_step(-1)", "At the previous step where it appears", MOVE),
    KeyHelp(("L",), "follow", "Follow: go to new steps as they come", MOVE),
    *_scrolling(READ),
    KeyHelp(("s",), "switch", "Text or table", READ, "s table"),
    KeyHelp(("r",), "again", "Read the run again", READ),
    KeyHelp(("f",), "find", "Find in the sample; Enter: next, then further samples", FIND, "f find"),
    KeyHelp(("escape",), "clear", "Clear what was found, or close", FIND),
    KeyHelp(("slash",), "search", "Search the run", FIND, "/ search"),
    KeyHelp(("F",), "filter", "Filter the samples: reward < 0.1 and turns > 3", FIND, "F filter"),
    KeyHelp(("t",), "tokens", "Tokens of the sample", VIEW, "t tokens"),
    KeyHelp(("v",), "group", "Group side by side", VIEW, "v group"),
    KeyHelp(("V",), "groups", "Groups in the list, with the reward of each answer; or samples", VIEW),
    KeyHelp(("m",), "metrics", "Metrics", VIEW, "m metrics"),
    KeyHelp(("E",), "evals", "Evaluations", VIEW, "E evals"),
    KeyHelp(("i",), "findings", "Findings: what the reward pays for, and data quality", VIEW, "i findings"),
    KeyHelp(("D",), "discarded", "Discarded samples only, or all", VIEW, "D discarded"),
    KeyHelp(("T",), "theme", "Light or dark", VIEW),
    KeyHelp(("b",), "bookmark", "Bookmark the sample, as on the page", KEEP),
    KeyHelp(("B",), "pick('bookmark')", "Go to a bookmarked sample", KEEP),
    KeyHelp(("y",), "copy", "Copy the id of the sample", KEEP, "y copy id"),
    KeyHelp(("ctrl+p",), "pick('action')", "Palette: every action by its name", KEEP),
    KeyHelp(("question_mark",), "help", "All keys", KEEP, "? keys"),
    KeyHelp(("q",), "app.quit", "Quit", KEEP, "q quit"),
)
"""Of the main screen."""

LISTS = "In a list that has the focus"
LIST_KEYS = (
    KeyHelp(("up",), "line(-1)", "Row above", LISTS, "↑/↓ row"),
    KeyHelp(("down",), "line(1)", "Row below", LISTS),
    KeyHelp(("pagedown",), "page(1)", "Page down", LISTS),
    KeyHelp(("pageup",), "page(-1)", "Page up", LISTS),
    KeyHelp(("home",), "end(False)", "First row", LISTS),
    KeyHelp(("end",), "end(True)", "Last row", LISTS),
    KeyHelp(("enter", "space"), "choose", "Open, or show and hide", LISTS, "Enter open"),
)
"""The keys of a list on the main screen, which take precedence over those of the screen."""


SIDE_KEYS = (
    *LIST_KEYS,
    KeyHelp(("tab",), "focus_pane(1)", "Next pane", MOVE, "Tab next pane"),
    KeyHelp(("escape",), "clear", "Back to the text", FIND, "Esc text"),
    *KEYS[-2:],
)
"""For the foot of a narrow window that shows the left pane."""


def actions_of(keys: Iterable[KeyHelp]) -> dict[str, str]:
    """Return what each key does."""
    return {key: row.action for row in keys for key in row.keys}


def _rows(section: str, noun: str) -> tuple[KeyHelp, ...]:
    return _scrolling(section, f"{noun} above", f"{noun} below", f"↑/↓ {noun.partition(' ')[0].lower()}")


def _choice(section: str, meaning: str, foot: str) -> KeyHelp:
    return KeyHelp(("enter", "space"), "choose", meaning, section, foot)


def _ends(section: str) -> tuple[KeyHelp, ...]:
    return (
        KeyHelp(("question_mark",), "help", "These keys", section, "? keys"),
        KeyHelp(("escape", "q"), "back", "Back", section, "Esc back"),
    )


TOKENS, METRICS, GROUP, EVALS, FINDINGS, SEARCH, HELP = (
    "Tokens", "Metrics", "Group", "Evaluations", "Findings", "Search", "Keys"
)  # fmt: skip

TOKEN_KEYS = (
    KeyHelp(("x",), "next_series", "Next series", TOKENS, "x next series"),
    KeyHelp(("X",), "choose_series", "Choose a series", TOKENS, "X choose"),
    KeyHelp(
        ("w",), "furthest", "Token whose value is furthest from 0, a ratio from 1; then the next", TOKENS, "w furthest"
    ),
    KeyHelp(("u",), "update", "Coefficient of each token in the update", TOKENS, "u update"),
    KeyHelp(("n",), "sample(1)", "Next sample", TOKENS, "n/p sample"),
    KeyHelp(("p",), "sample(-1)", "Previous sample", TOKENS),
    KeyHelp(("N",), "step(1)", "Next step", TOKENS, "N/P step"),
    KeyHelp(("P",), "step(-1)", "Previous step", TOKENS),
    KeyHelp(("right", "l"), "token(1)", "Next token", TOKENS),
    KeyHelp(("left", "h"), "token(-1)", "Previous token", TOKENS),
    *_scrolling(TOKENS, "Token above", "Token below"),
    KeyHelp(("t",), "back", "Back to the text", TOKENS),
    *_ends(TOKENS),
)
METRIC_KEYS = (
    *_rows(METRICS, "Curve"),
    KeyHelp(("right", "l"), "step(1)", "Next step", METRICS, "←/→ step"),
    KeyHelp(("left", "h"), "step(-1)", "Previous step", METRICS),
    _choice(METRICS, "Open the samples of the step, or of the nearest that has some", "Enter open the step"),
    *_ends(METRICS),
)
GROUP_KEYS = (
    KeyHelp(("right", "l", "n"), "answer(1)", "Next answer", GROUP, "←/→ answer"),
    KeyHelp(("left", "h", "p"), "answer(-1)", "Previous answer", GROUP),
    _choice(GROUP, "Open the answer", "Enter open it"),
    *_scrolling(GROUP, foot="j/k scroll"),
    *_ends(GROUP),
)
EVAL_KEYS = (
    *_rows(EVALS, "Evaluation or prompt"),
    _choice(EVALS, "Prompts of the evaluation; of a prompt its newest answer", "Enter prompts, then an answer"),
    *_ends(EVALS),
)
FINDING_KEYS = (
    *_rows(FINDINGS, "Finding or broken rule"),
    _choice(FINDINGS, "Open one of its samples", "Enter open a sample"),
    *_ends(FINDINGS),
)
SEARCH_KEYS = (*_rows(SEARCH, "Sample"), _choice(SEARCH, "Open the sample", "Enter open"), *_ends(SEARCH))
HELP_KEYS = (
    *_scrolling(HELP, foot="↑/↓ j/k scroll"),
    KeyHelp(("escape", "q", "question_mark", "enter"), "back", "Close", HELP, "Esc close"),
)

SCREENS = (TOKEN_KEYS, METRIC_KEYS, GROUP_KEYS, EVAL_KEYS, FINDING_KEYS, SEARCH_KEYS, HELP_KEYS)
EVERY_KEY = (*KEYS, *LIST_KEYS, *(key for screen in SCREENS for key in screen))

ALWAYS = ("ctrl+c", "ctrl+q", "ctrl+z")
AT_ONCE = ("question_mark", "q", "T")
"""Keys that need no run."""
NOTHING_TO_DO = "There is no run yet: ? shows the keys, q quits."


class EarlyKeys:
    """Keeps keys of the main screen, in order, until the screen can act on them."""

    def __init__(self) -> None:
        self._kept: list[Key] = []
        self.is_waiting = False
        """True while there is no run at all, perhaps for hours: then no key is kept."""

    def takes(self, event: Key, *, is_ready: bool, has_screen: bool) -> bool:
        """Keep a key for later, or drop it. Returns False if the screen can act on the key now."""
        if event.key in ALWAYS or (is_ready and not self._kept):
            return False
        if not self._kept and event.key in AT_ONCE and has_screen:
            return False
        if event.key == "escape":
            self._kept.clear()
        elif not self.is_waiting:
            self._kept.append(event)
        return True

    def message(self, until: str) -> str:
        if self.is_waiting:
            return NOTHING_TO_DO
        return f"{waiting(self._kept, until)} · Esc: forget · Ctrl+C: quit" if self._kept else ""

    def take(self) -> list[Key]:
        """Return the kept keys, and forget them."""
        kept, self._kept = self._kept, []
        return kept


def waiting(keys: Sequence[Key], until: str) -> str:
    """Return how many keys wait, and for what."""
    return f"{count(len(keys), 'key')} {'waits' if len(keys) == 1 else 'wait'} until {until}"


def after_escape(event: Key) -> str:
    """Return the letter of a key with Alt: over SSH, Esc and a letter soon after it look so. Else an empty text."""
    before, _, letter = event.key.rpartition("+")
    if len(letter) != 1 or before not in ("alt", "alt+shift"):
        return ""
    return letter.upper() if before == "alt+shift" else letter


def aim(event: Key, screen: Screen[object] | None) -> None:
    """Note which screen a person saw when pressing a key; None: not the screen that received the key."""
    vars(event)["aimed_at"] = screen


def is_late(event: Key, screen: Screen[object]) -> bool:
    """Return whether a screen that ignored a key has since been covered, or left."""
    return vars(event).get("aimed_at", screen) is not screen
