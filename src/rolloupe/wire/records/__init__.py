"""The records of requests and replies, a module for each subject of the page."""
