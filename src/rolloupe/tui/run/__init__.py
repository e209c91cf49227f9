"""The run on the screen: the person's place in it, and the questions that screens ask in the background."""
