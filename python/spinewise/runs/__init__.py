"""One run: a spec goes in, tables and a report come out, a folder keeps them.

| module | what it does |
|---|---|
| `api` | `spinewise.run` |
| `simulated` | one run and its result |
| `result` | what a run gave; its folder is written and read here |
| `kept` | reading that folder, and refusing what is none |
| `otherwise` | why a run made once more is another one |
| `validation` | `spinewise.validate`: what a run will come to |
| `folder` | results folders that are there whole or not at all |
| `file` | one file that is there whole or not at all |
| `owned` | whose a folder is: what `--force` may replace |
| `hidden` | what is being written, and what killed writers left |
| `formats` | the formats of results, and which can be read |
| `jobs` | many runs at once |
| `trace` | the choice trace as an Arrow table |
"""
