"""Why a flow moved.

| module | what it does |
|---|---|
| `explain` | the choices of one flow as facts |
| `resent` | what it sent again, and where that may have been lost |
| `story` | the facts in words |
"""
