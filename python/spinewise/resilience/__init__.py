"""What each scheme loses when something breaks: every scheme × every kind of fault on two small fabrics.

`setting` says what is built, sent and broken; `study` runs it and measures against the same run without a fault;
`show` and `files` make tables, a figure and files of it. docs/resilience.md tells what it says.
"""

from spinewise.resilience.setting import FABRICS, FAULTS
from spinewise.resilience.study import Study, study

__all__ = ["FABRICS", "FAULTS", "Study", "study"]
