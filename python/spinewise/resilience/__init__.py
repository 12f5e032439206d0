"""The loss of each scheme when something fails: every scheme × every kind of fault on two small fabrics.

| module | what it does |
|---|---|
| `setting` | fabrics, traffic and faults |
| `study`, `runs` | plans the runs; makes them |
| `compared` | a run with a fault against the same run without: the loss, and when goodput recovered |
| `measures` | the cost of a fault, from goodput over time |
| `recorded` | what is kept of a run |
| `show`, `files`, `stored` | tables, a figure, files; the results kept beside the numbers, for a page |
| `own`, `own_files`, `own_recorded` | the same for the faults of a user's spec |
| `own_faults` | the cost of each of several faults |

docs/resilience.md has the results.
"""

from spinewise.resilience.setting import FABRICS, FAULTS
from spinewise.resilience.study import Study, study

__all__ = ["FABRICS", "FAULTS", "Study", "study"]
