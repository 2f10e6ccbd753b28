"""Tables as streams: each row of a CSV, Parquet or Arrow file becomes the line of JSON that says the same."""
