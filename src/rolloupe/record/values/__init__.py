"""What a trainer hands over, as values that can be written. Nothing here raises."""
