"""Lists of samples and of groups: their contents, their order, and the fields of each row."""
