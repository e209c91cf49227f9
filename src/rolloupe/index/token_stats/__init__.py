"""What the index keeps of the tokens of a run: sums, histograms and extreme tokens of each series and step."""
