"""The pieces of the index: numbers, texts and sums of one part of a source, and packs of many."""
