"""Old names of parameters, accepted for one version."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

Class = TypeVar("Class", bound=type[Any])


def renamed(**names: str) -> Callable[[Class], Class]:
    """Make a constructor also accept old names of its parameters, as ``old="new"``, with a
    DeprecationWarning.

    Its signature, from which river clones, shows the new names only.

    Examples
    --------
    >>> @renamed(colour="color")
    ... class Model:
    ...     def __init__(self, color: str) -> None:
    ...         self.color = color
    >>> with warnings.catch_warnings(action="ignore"):
    ...     Model(colour="red").color
    'red'
    """

    def decorate(cls: Class) -> Class:
        init = cls.__init__

        @wraps(init)
        def accept_old_names(self: Any, *args: Any, **kwargs: Any) -> None:
            for old in names.keys() & kwargs.keys():
                new = names[old]
                if new in kwargs:
                    raise TypeError(f"{old} is the old name of {new}; give only {new}")
                warnings.warn(f"{old} is now called {new}", DeprecationWarning, stacklevel=2)
                kwargs[new] = kwargs.pop(old)
            init(self, *args, **kwargs)

        cls.__init__ = accept_old_names
        return cls

    return decorate
