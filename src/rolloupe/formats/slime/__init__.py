"""slime and its relatives, miles and Relax: dumps of samples as PyTorch writes them, and the trainer's data."""
