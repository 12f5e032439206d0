"""Spinewise: a packet-level simulator of datacenter load balancing.

import spinewise as sw

result = sw.run("scenarios/demo.toml", seed=3)
result.flows                    # pyarrow.Table, one row per flow
result.summary().of("short").fct_s.p99
"""

from spinewise.api import run
from spinewise.errors import SpecError
from spinewise.result import Result
from spinewise.spec import load, resolve
from spinewise.summary import Summary
from spinewise.sweep import Comparison, compare

__all__ = ["Comparison", "Result", "SpecError", "Summary", "compare", "load", "resolve", "run"]
