"""Rules about token series, which look at the sums of each step; a module each with a `RULE`."""
