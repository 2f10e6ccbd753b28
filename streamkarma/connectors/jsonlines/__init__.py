"""JSON lines: files, compressed or not, and pipes."""
