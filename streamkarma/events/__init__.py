"""From records to numbers: names become indices, values become floats."""
