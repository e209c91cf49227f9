"""Any JSON lines whose rows hold a text and a score under usual names."""
