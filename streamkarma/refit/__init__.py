"""Batch learners that are refitted from time to time on a sample of the stream, and serve as experts."""
