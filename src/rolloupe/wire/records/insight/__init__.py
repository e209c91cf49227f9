"""What Rolloupe found in a run without being asked."""
