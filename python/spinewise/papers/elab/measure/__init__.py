"""What is read off the runs of the experiments on ELAB; nothing here judges, draws, or says what is run.

| module | what it has |
|---|---|
| `splits` | how a leaf splits traffic, what became of packets |
| `fig02` | Figs. 2, 3, 4, 7 |
| `fig09` | Figs. 9, 10 |
| `large` | Figs. 12, 13 |
| `change` | how soon a change is sensed |
"""
