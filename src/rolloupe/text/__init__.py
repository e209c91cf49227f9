"""Text to turns and spans: chat templates, think blocks, tool calls, previews.

Everything here takes any string, lone surrogates and five-megabyte lines included, never raises, and runs in time
linear in the text. Nothing is lost: joining the parts of the turns gives back the text verbatim.
"""

from rolloupe.text.blocks import *
from rolloupe.text.call_summaries import *
from rolloupe.text.full_text import *
from rolloupe.text.messages import *
from rolloupe.text.templates import *
from rolloupe.text.terminal_output import *
from rolloupe.text.tool_calls import *
from rolloupe.text.tool_results import *
from rolloupe.text.visible import *
