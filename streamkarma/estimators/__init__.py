"""KARMA as river models."""
