"""The meaning of Kafka's errors for a run."""

from __future__ import annotations

import re
from ast import literal_eval

from kafka import errors

from streamkarma.connectors.base import RetriableError
from streamkarma.errors import FencedError, RunError

#: Errors after which another process has taken over from this one.
_FENCED = (errors.ProducerFencedError, errors.FencedInstanceIdError, errors.InvalidProducerEpochError)
#: Errors that recur however often one retries.
_FATAL = (
    errors.CorruptRecordError,
    errors.IncompatibleBrokerVersion,
    errors.InvalidGroupIdError,
    errors.InvalidRecordError,
    errors.InvalidTopicError,
    errors.InvalidSessionTimeoutError,
    errors.InconsistentGroupProtocolError,
    errors.InvalidTransactionTimeoutError,
    errors.KafkaConfigurationError,
    errors.MessageSizeTooLargeError,
    errors.RecordListTooLargeError,
    errors.SaslAuthenticationFailedError,
    errors.UnsupportedCodecError,
    errors.UnsupportedVersionError,
)


#: A broker's message in an answer that an admin client shows as a Python object.
_ERROR_MESSAGE = re.compile(r"""error_message=('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""")


class RetriableKafkaError(RetriableError):
    """A broker, a topic or the group has changed; the run resumes from the last commit."""


def translate_error(error: errors.KafkaError) -> RunError | RetriableKafkaError:
    """Translate a Kafka error: the end of a run, or another attempt."""
    error = unwrapped(error)
    reason = reason_of(error)
    if isinstance(error, _FENCED):
        return FencedError(
            "another process has taken over this model, or this member of the group; nothing was written "
            f"since ({reason}). Each process of a group needs its own model, or its own group_instance_id"
        )
    if isinstance(error, errors.AuthorizationError):
        return RunError(f"the brokers denied access: {reason}")
    if isinstance(error, errors.OffsetMetadataTooLargeError):
        return RunError("the brokers' offset.metadata.max.bytes is too small; use 4096, Kafka's default")
    if isinstance(error, _FATAL):
        return RunError(f"the brokers or the topic cannot be used: {reason}")
    return RetriableKafkaError(reason)


def unwrapped(error: errors.KafkaError) -> errors.KafkaError:
    """The original error named by a generic one.

    A producer in an error state raises generic errors that only mention the original one in their text.

    Examples
    --------
    >>> unwrapped(errors.KafkaError("in an error state: [Error 50] InvalidTransactionTimeoutError"))
    InvalidTransactionTimeoutError('in an error state: [Error 50] InvalidTransactionTimeoutError')
    """
    if type(error) is not errors.KafkaError:
        return error
    kinds = [getattr(errors, name, None) for name in re.findall(r"\b[A-Z]\w+Error\b", str(error))]
    known = [kind for kind in kinds if isinstance(kind, type) and kind is not errors.KafkaError]
    return known[-1](*error.args) if known else error


def reason_of(error: BaseException) -> str:
    """The message of a Kafka error, in one line and without its number."""
    name = type(error).__name__
    # For some answers of brokers kafka-python has no message: it makes an error of None.
    text = " ".join(str(error).split()) if error.args != (None,) else name
    if " failed with response " in text:
        found = _ERROR_MESSAGE.search(text)
        # The match is a quoted string; this only decodes its escapes and runs nothing.
        return " ".join(literal_eval(found[1]).split() if found else ()) or name
    return text.partition(f"{name}: ")[2] or text.replace(f"{name}:", "").strip() or name
