"""What the reward of samples may be for: sums of every phrase and behaviour by step, and the words of some samples."""
