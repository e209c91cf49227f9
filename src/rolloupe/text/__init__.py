"""Text to turns and spans: chat templates, think blocks, tool calls, previews.

Everything here takes any string, lone surrogates and five-megabyte lines included, never raises, and runs in time
linear in the text. Nothing is lost: joining the parts of the turns gives back the text verbatim.
"""

from rolloupe.text.blocks import parts
from rolloupe.text.full_text import after, legible, legible_parts, verbatim, whole
from rolloupe.text.messages import answer_at, answers_in, conversation, first_answer, from_messages, is_message, joined
from rolloupe.text.preview import digest, natural, one_line, preview
from rolloupe.text.templates import (
    bare_answers,
    begins_any_turn,
    begins_turn,
    has_bare_turns,
    is_bare,
    split_prompt,
    split_response,
    turn_starts,
)
from rolloupe.text.tool_calls import call_of, call_text, is_broken, readable
from rolloupe.text.visible import MOST_BACK, alike, clean, goes_on, named, quoted
