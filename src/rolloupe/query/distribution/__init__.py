"""How the values of a sample metric are distributed: over the steps of a run, and at one step."""
