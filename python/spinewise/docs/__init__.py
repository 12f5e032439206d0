"""The generated parts of the documentation of a checkout: ``python -m spinewise.docs``.

| module | what it does |
|---|---|
| `pages` | the pages that describe the engine |
| `compared` | schemes side by side, from what each says of itself |
| `checkout` | the index of citations, and the README's table of schemes |
| `reproduced` | what came of the papers' claims, from the kept evidence |
| `drawings` | its figures |
| `prose` | texts beside the experiments, with numbers from the evidence |
| `commands` | docs/cli.md, from the parser |
| `store` | docs/store.md: the views of a store |
| `edge` | docs/edge-2026.md, from the kept evidence |
| `edge_figure` | its figures |
| `schemas` | JSON Schemas, and the types of a spec in Python |
"""
