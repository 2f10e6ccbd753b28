"""JSON lines: files, packed or not, and pipes."""
