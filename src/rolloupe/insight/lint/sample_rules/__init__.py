"""Rules that need samples whole, their arrays above all; a module each with a `RULE`."""
