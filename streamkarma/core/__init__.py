"""The mathematics, over arrays: no river, no records, no input or output."""
