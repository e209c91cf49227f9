"""The keys of the screens over the main one: `BackScreen` and `HelpScreen` do what these tables say."""

from rolloupe.tui.keys import KEYS, LIST_KEYS, KeyHelp


def _pages(section: str) -> tuple[KeyHelp, ...]:
    return (
        KeyHelp(("j", "pagedown"), "page(1)", "Page down", section),
        KeyHelp(("k", "pageup"), "page(-1)", "Page up", section),
        KeyHelp(("g", "home"), "end(False)", "Top", section),
        KeyHelp(("G", "end"), "end(True)", "Bottom", section),
    )


def _rows(section: str, noun: str) -> tuple[KeyHelp, ...]:
    return (
        KeyHelp(("up",), "line(-1)", f"{noun} above", section, f"↑/↓ {noun.partition(' ')[0].lower()}"),
        KeyHelp(("down",), "line(1)", f"{noun} below", section),
        *_pages(section),
    )


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
    KeyHelp(("up",), "line(-1)", "Token above", TOKENS),
    KeyHelp(("down",), "line(1)", "Token below", TOKENS),
    *_pages(TOKENS),
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
    KeyHelp(("up",), "line(-1)", "Line up", GROUP),
    KeyHelp(("down",), "line(1)", "Line down", GROUP, "j/k scroll"),
    *_pages(GROUP),
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
    KeyHelp(("up",), "line(-1)", "Line up", HELP, "↑/↓ j/k scroll"),
    KeyHelp(("down",), "line(1)", "Line down", HELP),
    *_pages(HELP),
    KeyHelp(("escape", "q", "question_mark", "enter"), "back", "Close", HELP, "Esc close"),
)

SCREENS = (TOKEN_KEYS, METRIC_KEYS, GROUP_KEYS, EVAL_KEYS, FINDING_KEYS, SEARCH_KEYS, HELP_KEYS)
EVERY_KEY = (*KEYS, *LIST_KEYS, *(one for screen in SCREENS for one in screen))
