"""The experiments on ELAB.

| module | what it has |
|---|---|
| `fabric` | set-ups, schemes, assumptions |
| `labels` | what schemes and transports are called |
| `measure` | what is read off a run |
| `fig02` | Figs. 2, 3, 4, 7: one flow over two paths |
| `fig09` | Figs. 9 and 10: two flows into one rack |
| `large` | what Figs. 12 and 13 share |
| `fig12` | web search, symmetric |
| `fig13` | web search, asymmetric |
| `length` | the latter at one load, arrivals that last longer |
| `change` | how soon a change is sensed |
| `checks` | by hand: what is behind the verdicts |
| `tables` | by hand: tables of what `spinewise reproduce` wrote |
"""
