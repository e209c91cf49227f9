"""Writers, one for each framework's layout."""
