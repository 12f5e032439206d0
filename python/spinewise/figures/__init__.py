"""Figures of results, each a function from measurements to a matplotlib figure.

| module | what it draws |
|---|---|
| `spread` | cumulative distributions of completion time and slowdown; slowdown against flow size |
| `bars` | one value a scheme, if no load axis was requested |
| `heat` | links against time: how busy, how long their queues |
| `faults` | goodput around faults, and its recovery |
| `steps` | the steps of collective operations |
| `topology` | the fabric as it was built: slow links, dead links, how busy each was |
| `kinds` | the kinds of figures, by name |
| `of_run` | the figures of a run; those of a comparison are in `spinewise.comparison.figures` |
"""
