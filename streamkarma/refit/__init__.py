"""Batch learners that are refitted now and then on a sample of the stream, and vote in between."""
