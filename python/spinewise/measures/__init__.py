"""What a run comes to, as pure functions of its tables and report.

| module | what it does |
|---|---|
| `summary` | completion times by size class, overheads, loads, links |
| `stats` | percentiles, intervals, differences; each states its convention |
| `tables` | the engine's columns as Arrow tables |
| `units` | numbers for people |
"""
