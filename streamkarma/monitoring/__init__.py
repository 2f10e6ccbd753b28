"""What can be seen of a run from outside while it goes on: metrics for Prometheus, and a page."""
