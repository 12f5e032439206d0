"""The loss of each scheme when something fails: every scheme × every kind of fault on two small fabrics.

`setting` has fabrics, traffic and faults; `study` plans the runs and measures each against the same run without a
fault; `runs` makes them; `show` and `files` make tables, a figure and files of it. `own` and `own_files` do the same
for the faults of a user's spec. docs/resilience.md has the results.
"""

from spinewise.resilience.setting import FABRICS, FAULTS
from spinewise.resilience.study import Study, study

__all__ = ["FABRICS", "FAULTS", "Study", "study"]
