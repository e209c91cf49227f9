"""Token ids become text: tokenizer files are read as data, and each token gets the text that it adds.

Owns the files of tokenizers (`tokenizer.json`, `tekken.json`, SentencePiece models, tiktoken ranks) and the local
Hugging Face cache. It reads what decoding needs, a table of bytes and a few rules, and runs nothing that a file names.
"""

from rolloupe.tokenizer.files import find_tokenizer, is_missing_model, load, load_at, load_named, load_unchanged
from rolloupe.tokenizer.vocabulary import Tokenizer, decode_tokens, most_chars, partial_pieces, text_of_token
