"""Streams made by ``generate``; the usual one, of low rank, is imported from here."""

from streamkarma.synthetic.lowrank import StreamSpec as StreamSpec
from streamkarma.synthetic.lowrank import records as records
