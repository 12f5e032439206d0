"""The experiments on SELB.

| module | what it has |
|---|---|
| `fabric` | the two fabrics, the schemes, assumptions |
| `measure` | measurements of a run |
| `evaluation` | the common parts of Figs. 5 and 6 |
| `fig02` | ConWeave with 8 reorder queues and without a limit |
| `fig05` | AliStorage |
| `fig06` | Hadoop |
| `queues` | from one reorder queue to any number |
| `sensitivity` | θ, k, τ and reorder queues, each alone |
| `variations` | open assumptions varied alone |
| `buffer` | AliStorage without losses in larger buffers |
| `one_flow` | by hand: two flows, reroute by reroute |
| `classes` | by hand: the company of a congested path in its class |
| `tables` | by hand: tables from the output of `spinewise reproduce` |
| `monitoring` | three readings of "continuously monitors" |
"""
