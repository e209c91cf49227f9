"""Lists of samples and of groups: what is in them, in which order, and what each row shows."""
