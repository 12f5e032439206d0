"""Work as bytes for a process that may lack some of its code.

Workers have Spinewise, and import it. The code of a user's folder of papers or a script is sent along.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from types import FunctionType
from typing import cast

from spinewise.sweeps.engine import Work

PACKAGE = "spinewise"


def carried(work: Work) -> bytes:
    """A piece of work, with the code of its measures unless that is part of Spinewise."""
    pickle = import_module("ray.cloudpickle")
    for measure in work.measures:
        for function in functions(measure.function):
            package = function.__module__.partition(".")[0]
            # A statement about a package holds for all of its modules; a script is sent along anyway.
            if package in sys.modules and package not in (PACKAGE, "__main__"):
                pickle.register_pickle_by_value(sys.modules[package])
    return cast(bytes, pickle.dumps(work))


def unpacked(content: bytes) -> Work:
    """The work again."""
    return cast(Work, import_module("ray.cloudpickle").loads(content))


def functions(value: object) -> Iterator[FunctionType]:
    """The functions in a measure."""
    if isinstance(value, partial):
        for part in (value.func, *value.args, *value.keywords.values()):
            yield from functions(part)
    elif isinstance(value, FunctionType):
        yield value
