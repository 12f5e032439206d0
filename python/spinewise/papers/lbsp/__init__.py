"""The experiments on LBSP.

| module | what it has |
|---|---|
| `fabric` | set-ups, schemes, checks that figures share, assumptions |
| `tree` | the fat-trees, and their faults |
| `measure` | measurements of a run |
| `fig06a` | Figs. 6a and 7b: short flows |
| `fig06b` | long flows, a link or a switch down |
| `fig07a` | long flows over oversubscription |
| `pointer` | the same by who shares a pointer of round robin |
| `fig07c` | long flows, a link slow |
| `routes` | §3, Figs. 2, 3, 5: routes to the port |
| `groups` | §3.4: more groups or more paths in each |
| `section5` | §5: the input port takes part in the choice |
| `checks` | by hand: the background of the verdicts |
| `tables` | by hand: tables from the output of `spinewise reproduce` |
"""
