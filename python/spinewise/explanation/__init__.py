"""Explain why a flow moved.

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
"""
