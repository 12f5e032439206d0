"""Figures of results, each a function from what was measured to a matplotlib figure.

| module | what it draws |
|---|---|
| `spread` | cumulative distributions of completion time and slowdown; slowdown against flow size |
| `bars` | one value a scheme, where no load axis was asked for |
| `heat` | links against time: how busy, how long their queues |
| `faults` | goodput around faults, and when it was back |
| `steps` | the steps of collective operations |
| `topology` | the fabric as it was built: slow links, dead links, how busy each was |
| `kinds` | what a figure is, by name |
| `of_run` | the figures of a run; those of a comparison are in `spinewise.comparison.figures` |
"""
