"""Completions as trainers of Hugging Face models log them: TRL and ms-swift."""
