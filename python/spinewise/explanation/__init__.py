"""Why a flow moved.

| module | what it does |
|---|---|
| `explain` | the choices of one flow as facts |
| `story` | the facts in words |
"""
