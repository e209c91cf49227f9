"""Token ids become text: tokenizer files are read as data, and each token gets the text that it adds.

Owns the files of tokenizers (`tokenizer.json`, `tekken.json`, SentencePiece models, tiktoken ranks) and the local
Hugging Face cache. It reads what decoding needs, a table of bytes and a few rules, and runs nothing that a file names.
"""

from rolloupe.tokenizer.files import find_tokenizer as find_tokenizer
from rolloupe.tokenizer.files import is_missing_model as is_missing_model
from rolloupe.tokenizer.files import load as load
from rolloupe.tokenizer.files import load_at as load_at
from rolloupe.tokenizer.files import load_named as load_named
from rolloupe.tokenizer.files import load_unchanged as load_unchanged
from rolloupe.tokenizer.vocabulary import Tokenizer as Tokenizer
from rolloupe.tokenizer.vocabulary import decode_tokens as decode_tokens
from rolloupe.tokenizer.vocabulary import most_chars as most_chars
from rolloupe.tokenizer.vocabulary import partial_pieces as partial_pieces
from rolloupe.tokenizer.vocabulary import text_of_token as text_of_token
