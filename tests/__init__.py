"""The tests. This runs before anything imports a BLAS, and so can limit its number of threads."""

import os

# Waiting BLAS threads spin, which made a test ten times as slow on busy cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")
