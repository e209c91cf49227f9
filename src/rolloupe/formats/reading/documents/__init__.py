"""Samples that lie in a document by number, and runs whose files are of several kinds."""
