"""The token export of prime-rl's trainer."""

from rolloupe.record.writers.prime_rl.writer import PrimeRLWriter, TokenExporter, setup_token_export

__all__ = ["PrimeRLWriter", "TokenExporter", "setup_token_export"]
