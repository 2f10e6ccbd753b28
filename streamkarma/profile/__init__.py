"""Profiles a stream in one pass: what is missing, what changes, and how to learn from it."""
