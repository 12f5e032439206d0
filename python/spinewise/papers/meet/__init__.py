"""The experiments on MEET.

| module | what it has |
|---|---|
| `fabric` | the two fabrics, the schemes, the forms of a run, assumptions |
| `measure` | measurements of a run |
| `evaluation` | the common parts of Figs. 6 to 11 |
| `fig06` | web search, symmetric |
| `fig07` | data mining, symmetric |
| `fig08` | enterprise, symmetric |
| `fig09` | web search, asymmetric |
| `fig10` | data mining, asymmetric |
| `fig11` | enterprise, asymmetric |
| `t_update` | §3.5: cost and benefit of T_update |
| `variations` | open assumptions varied alone |
| `checks` | by hand: the background of the verdicts |
| `tables` | by hand: tables from the output of `spinewise reproduce` |
"""
