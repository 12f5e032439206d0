"""Measurements of the runs of the experiments on PDLB; nothing here judges, draws, or defines runs.

| module | what it has |
|---|---|
| `fig03` | Figs. 3, 4 |
| `fig06` | Fig. 6, and the models |
| `fig07` | Fig. 7 |
| `granularity` | flowcells of a fixed size |
| `fig08` | Figs. 8, 9 |
| `fig10` | Fig. 10 |
| `large` | Figs. 11, 12 |
| `facts` | experiments that need no run |
"""
