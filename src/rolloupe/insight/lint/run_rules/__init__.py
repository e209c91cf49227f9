"""Rules about what the files of a run are like; a module each with a `RULE`."""
