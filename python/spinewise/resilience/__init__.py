"""What each scheme loses when something breaks: every scheme × every kind of fault on two small fabrics.

`setting` says what is built, sent and broken; `study` plans the runs and measures each against the same run without a
fault; `runs` makes them; `show` and `files` make tables, a figure and files of it. `own` and `own_files` do the same
for the faults of a user's spec. docs/resilience.md tells what it says.
"""

from spinewise.resilience.setting import FABRICS, FAULTS
from spinewise.resilience.study import Study, study

__all__ = ["FABRICS", "FAULTS", "Study", "study"]
