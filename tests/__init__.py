"""The tests. This is read before anything that brings a BLAS, and so can say how many threads it takes."""

import os

# Threads that wait for one another spin: where the cores are busy a test took ten times as long.
os.environ.setdefault("OMP_NUM_THREADS", "1")
