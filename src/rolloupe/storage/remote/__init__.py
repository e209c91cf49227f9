"""Runs in object stores and on web servers, through `obstore`, which is imported with the first address."""
