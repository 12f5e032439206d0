"""Measurements of the runs of the experiments on ELAB; nothing here judges, draws, or defines runs.

| module | what it has |
|---|---|
| `splits` | how a leaf splits traffic, and the fate of packets |
| `fig02` | Figs. 2, 3, 4, 7 |
| `fig09` | Figs. 9, 10 |
| `large` | Figs. 12, 13 |
| `change` | the time to sense a change |
"""
