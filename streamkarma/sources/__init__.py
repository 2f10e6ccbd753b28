"""Where records come from: each source yields them with their position."""
