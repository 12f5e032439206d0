"""User-defined schemes, written in Python.

| module | what it does |
|---|---|
| `scheme` | what such a class derives from |
| `params` | how it declares parameters |
| `contract` | what the engine is given for it |
| `load` | reads one from a file |
| `code`, `digest` | its code, and the digest that identifies it |
| `texts`, `copies` | the files that belong to it, and their copies beside results |
| `fixed`, `held` | what a class cannot change once it runs, and what a run left changed |
"""
