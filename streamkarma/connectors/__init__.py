"""Where events come from and predictions go: a folder for each system, behind the interface of ``base``."""
