"""The experiments on ELAB.

| module | what it has |
|---|---|
| `fabric` | set-ups, schemes, assumptions |
| `labels` | names of schemes and transports |
| `measure` | measurements of a run |
| `fig02` | Figs. 2, 3, 4, 7: one flow over two paths |
| `fig09` | Figs. 9 and 10: two flows into one rack |
| `large` | the common parts of Figs. 12 and 13 |
| `fig12` | web search, symmetric |
| `fig13` | web search, asymmetric |
| `length` | the latter at one load, arrivals that last longer |
| `change` | the time to sense a change |
| `checks` | by hand: the background of the verdicts |
| `tables` | by hand: tables from the output of `spinewise reproduce` |
"""
