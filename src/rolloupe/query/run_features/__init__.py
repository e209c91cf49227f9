"""What the index knows of features of samples: sums by step, and the words of some samples."""
