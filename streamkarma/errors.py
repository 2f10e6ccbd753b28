"""The exceptions of this package.

StreamkarmaError
├── UsageError           options or arguments that contradict each other: exit 2
├── ModelFileError       a model file that is damaged, foreign or too new: exit 1
├── RecordError          one record cannot be used; it is set aside, and the stream continues
└── RunError             the run cannot continue: exit 1
    ├── FencedError      another process has taken over; nothing more may be written
    └── OutputError      a row or a report cannot be written; the last saved model stays

UsageError and RecordError are ValueErrors too, which is what the Python API raises for a bad
parameter or a bad value. Every message is one line that says what, where and what to do.
"""

from __future__ import annotations


class StreamkarmaError(Exception):
    """Base of everything raised on purpose."""


class UsageError(StreamkarmaError, ValueError):
    """Options or parameters that are invalid, alone or together."""


def meaningless_without(option: str, needed: str) -> UsageError:
    """The error of an option that was given without the one that it needs."""
    return UsageError(f"{option} has no meaning without {needed}; add {needed}, or leave {option} out")


class ModelFileError(StreamkarmaError):
    """A file that is not a complete, unaltered model of a supported version."""


class RecordError(StreamkarmaError, ValueError):
    """A record that is not an event; the message is the reason, without the position."""


class RunError(StreamkarmaError):
    """A failure outside the records, after which a run cannot continue."""


class FencedError(RunError):
    """Another process has taken over the model; this one must discard its pending work."""


class OutputError(RunError):
    """Output of a run cannot be written, so no saved model may cover it."""
