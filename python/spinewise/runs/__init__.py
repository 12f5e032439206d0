"""One run: a spec goes in, tables and a report come out, a folder keeps them.

| module | what it does |
|---|---|
| `api` | `spinewise.run` |
| `simulated` | one run and its result |
| `result` | the result of a run; its folder is written and read here |
| `kept` | reading that folder, and refusing other files |
| `otherwise` | why a repeated run differs |
| `validation` | `spinewise.validate`: the size of a run, in advance |
| `folder` | results folders that are written whole or not at all |
| `file` | one file that is written whole or not at all |
| `owned` | who owns a folder: what `--force` may replace |
| `hidden` | files being written, and remains of killed writers |
| `formats` | the formats of results, and which can be read |
| `jobs` | many runs at once |
| `trace` | the choice trace as an Arrow table |
| `packets` | captured packets as an Arrow table |
"""
