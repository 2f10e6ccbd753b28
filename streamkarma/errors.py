"""What can go wrong, and whose fault it is.

StreamkarmaError
├── UsageError           options or arguments that contradict each other: exit 2
├── ModelFileError       a model file that is damaged, foreign or too new: exit 1
├── RecordError          one record cannot be used; it is set aside, the stream goes on
└── RunError             the run cannot go on: exit 1
    ├── FencedError      another process has taken over; nothing more may be written
    └── OutputError      a row or a report cannot be written; the model stays as it was saved last

UsageError and RecordError are ValueErrors too, which is what the Python API raises for a bad
parameter or a bad value. Every message is one line that says what, where and what to do.
"""

from __future__ import annotations


class StreamkarmaError(Exception):
    """Base of everything raised on purpose."""


class UsageError(StreamkarmaError, ValueError):
    """Options or parameters that make no sense, alone or together."""


class ModelFileError(StreamkarmaError):
    """A file that is not a whole, unaltered model of a known version."""


class RecordError(StreamkarmaError, ValueError):
    """A record that is not an event; the message is the reason, without the place."""


class RunError(StreamkarmaError):
    """Something outside the records that a run cannot go on without."""


class FencedError(RunError):
    """Another process works for the same model; what this one still has in hand is void."""


class OutputError(RunError):
    """What a run puts out cannot be written, so no model may stand for it."""
