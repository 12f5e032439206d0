"""Why a flow moved.

| module | what it does |
|---|---|
| `facts` | what the table of flows says of a flow |
| `choices` | the choices of one flow out of a trace, as arrays |
| `explain` | its moves, and why each |
| `breaks` | the faults of a run, in words |
| `losses` | which of its packets never arrived: what became of them, where, by which fault |
| `resent` | what it sent again, and why |
| `story` | the facts in words |
| `worst` | which flows to ask about: the slowest, and those that faults hurt most |
"""
