"""Documents that are read whole: YAML, and samples that lie in a file by number."""
