"""The run behind the screen: the place in it, and the questions that screens ask in the background."""
