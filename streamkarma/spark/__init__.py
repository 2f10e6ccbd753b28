"""streamkarma on Spark: one model from many machines.

Spark is installed with ``pip install 'streamkarma[spark]'``, and imported on first use.
"""

from __future__ import annotations

from streamkarma.spark.api import attach, backfill, predict

__all__ = ["attach", "backfill", "predict"]
