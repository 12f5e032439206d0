"""Measurements of the runs of the experiments on LBSP; nothing here judges, draws, or defines runs.

| module | what it has |
|---|---|
| `flows` | completion times, the fate of packets, the flows of each pair |
| `fig06a` | Figs. 6a, 7b |
| `fig06b` | Fig. 6b |
| `fig07a` | Fig. 7a |
| `fig07c` | Fig. 7c |
| `routes` | links, to the port |
| `groups` | completion times of one leaf |
| `section5` | queues of link groups |
"""
