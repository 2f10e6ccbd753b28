"""The test-then-learn loop and what it keeps count of."""
