"""One run: a spec goes in, tables and a report come out, a folder keeps them.

| module | what it does |
|---|---|
| `api` | `spinewise.run` |
| `result` | what a run gave; its folder is written and read here |
| `folder` | results folders that are there whole or not at all |
| `jobs` | many runs at once |
| `trace` | the choice trace as an Arrow table |
"""
