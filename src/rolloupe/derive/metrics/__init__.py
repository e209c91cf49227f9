"""One module for each derived metric, which it holds as `METRIC`. `characters` is the simplest."""
