"""Explain why a flow moved, and why two runs of the same traffic differ.

| module | what it does |
|---|---|
| `facts` | the facts in the table of flows |
| `choices` | the choices of one flow out of a trace, as arrays |
| `explain` | its moves, and why each |
| `breaks` | the faults of a run, in words |
| `losses` | its packets that never arrived: their fate, where, and by which fault |
| `resent` | its retransmissions, and the reasons |
| `story` | the facts in words |
| `worst` | which flows to ask about: the slowest, and those that faults hurt most |
| `pairs` | two runs of the same traffic: what can be paired, and the flows in the tail of either |
| `chain` | what a flow waited for, one thing after the other, from its packets |
| `waits` | the ports where its packets waited |
| `again` | a run made again, to look at the packets of some flows |
| `parts` | the parts of a flow's completion time |
| `differ` | why a percentile differs between two runs |
| `told_apart` | that in words |
| `shortest` | the least time of a packet on its way, from the topology |
| `wanted` | which flows are asked about: of an entry, of a size class, or all |
"""
