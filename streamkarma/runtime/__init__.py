"""The test-then-learn loop and its counters."""
