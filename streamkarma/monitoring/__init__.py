"""Monitoring of a run while it is in progress: metrics for Prometheus, and a page."""
