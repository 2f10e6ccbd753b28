"""What a stream is like, from one look at it: what is missing, what changes, and how to learn from it."""
