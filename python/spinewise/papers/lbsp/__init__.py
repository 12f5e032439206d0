"""The experiments on LBSP.

| module | what it has |
|---|---|
| `fabric` | set-ups, schemes, checks that figures share, assumptions |
| `tree` | the fat-trees, and what is wrong with them |
| `measure` | what is read off a run |
| `fig06a` | Figs. 6a and 7b: short flows |
| `fig06b` | long flows, a link or a switch down |
| `fig07a` | long flows over oversubscription |
| `fig07c` | long flows, a link slow |
| `routes` | §3, Figs. 2, 3, 5: routes to the port |
| `groups` | §3.4: more groups or more paths in each |
| `section5` | §5: the input port has a say |
| `checks` | by hand: what is behind the verdicts |
| `tables` | by hand: tables of what `spinewise reproduce` wrote |
"""
