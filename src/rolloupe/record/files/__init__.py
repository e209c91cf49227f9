"""The files of a recorded run, as its writer makes them."""
