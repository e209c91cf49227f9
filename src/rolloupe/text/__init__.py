"""Text to turns and spans: chat templates, think blocks, tool calls, previews.

Everything here takes any string, lone surrogates and five-megabyte lines included, never raises, and runs in time
linear in the text. Nothing is lost: joining the parts of the turns gives back the text verbatim.
"""

from rolloupe.text.blocks import parts as parts
from rolloupe.text.full_text import after as after
from rolloupe.text.full_text import digest as digest
from rolloupe.text.full_text import legible as legible
from rolloupe.text.full_text import legible_parts as legible_parts
from rolloupe.text.full_text import natural as natural
from rolloupe.text.full_text import one_line as one_line
from rolloupe.text.full_text import preview as preview
from rolloupe.text.full_text import read_parts as read_parts
from rolloupe.text.full_text import verbatim as verbatim
from rolloupe.text.full_text import whole as whole
from rolloupe.text.messages import answer_at as answer_at
from rolloupe.text.messages import answers_in as answers_in
from rolloupe.text.messages import conversation as conversation
from rolloupe.text.messages import first_answer as first_answer
from rolloupe.text.messages import from_messages as from_messages
from rolloupe.text.messages import is_message as is_message
from rolloupe.text.messages import joined as joined
from rolloupe.text.templates import bare_answers as bare_answers
from rolloupe.text.templates import begins_any_turn as begins_any_turn
from rolloupe.text.templates import begins_turn as begins_turn
from rolloupe.text.templates import has_bare_turns as has_bare_turns
from rolloupe.text.templates import is_bare as is_bare
from rolloupe.text.templates import split_prompt as split_prompt
from rolloupe.text.templates import split_response as split_response
from rolloupe.text.templates import turn_starts as turn_starts
from rolloupe.text.tool_calls import call_of as call_of
from rolloupe.text.tool_calls import call_text as call_text
from rolloupe.text.tool_calls import is_broken as is_broken
from rolloupe.text.tool_calls import readable as readable
from rolloupe.text.visible import MOST_BACK as MOST_BACK
from rolloupe.text.visible import alike as alike
from rolloupe.text.visible import clean as clean
from rolloupe.text.visible import cleaned as cleaned
from rolloupe.text.visible import goes_on as goes_on
from rolloupe.text.visible import named as named
from rolloupe.text.visible import quoted as quoted
