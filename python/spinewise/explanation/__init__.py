"""Why a flow moved.

| module | what it does |
|---|---|
| `facts` | what the table of flows says of a flow |
| `choices` | the choices of one flow out of a trace, as arrays |
| `explain` | its moves, and why each |
| `resent` | what it sent again, and where that may have been lost |
| `story` | the facts in words |
"""
