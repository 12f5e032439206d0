"""The experiments on MEET.

| module | what it has |
|---|---|
| `fabric` | the two fabrics, the schemes, the forms of a run, assumptions |
| `measure` | what is read off a run |
| `evaluation` | what Figs. 6 to 11 share |
| `fig06` | web search, symmetric |
| `fig07` | data mining, symmetric |
| `fig08` | enterprise, symmetric |
| `fig09` | web search, asymmetric |
| `fig10` | data mining, asymmetric |
| `fig11` | enterprise, asymmetric |
| `t_update` | §3.5: what T_update costs and brings |
| `variations` | open assumptions varied alone |
| `checks` | by hand: what is behind the verdicts |
| `tables` | by hand: tables of what `spinewise reproduce` wrote |
"""
