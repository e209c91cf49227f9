"""One derived metric a module, in `METRIC`. `characters` is the simplest."""
