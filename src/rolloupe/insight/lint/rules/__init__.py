"""The rules, a module each with a `RULE`."""
