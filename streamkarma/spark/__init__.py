"""streamkarma on Spark: one model from many machines.

Spark comes with ``pip install 'streamkarma[spark]'``, and is imported when something is to run.
"""

from __future__ import annotations

from streamkarma.spark.api import attach, backfill, predict

__all__ = ["attach", "backfill", "predict"]
