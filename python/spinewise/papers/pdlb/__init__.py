"""The experiments on PDLB.

| module | what it has |
|---|---|
| `transports` | transports and queues of all set-ups |
| `model` | Eqs. 1 to 10 |
| `measure` | measurements of a run |
| `fig03` | Figs. 3 and 4: flowcells of a fixed size |
| `fig06` | model and simulation |
| `fig07` | over the number of hot paths |
| `fig07_granularity` | the best of any fixed size |
| `fig07_variations` | Fig. 7, open assumptions varied alone |
| `fig08` | Figs. 8 and 9: over the asymmetry |
| `fig10` | adaptive against fixed sizes |
| `fig10_variations` | Fig. 10, open assumptions varied alone |
| `large` | the common parts of Figs. 11 and 12 |
| `fig11` | web search |
| `fig12` | data mining |
| `one_flow` | by hand: one flow, path by path |
| `table03` | by hand: Table 3: the time of decisions |
| `tables` | by hand: tables from the output of `spinewise reproduce` |
| `facts` | Table 3 and the workloads, computed without a run |
"""
