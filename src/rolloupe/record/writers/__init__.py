"""Writers, one framework's layout each."""
