"""The contents of the panes, as data: the blocks of a sample, rows of lists, tables, charts. No module here draws."""
