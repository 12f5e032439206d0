"""What a run comes to, as pure functions of its tables and report.

| module | what it does |
|---|---|
| `summary` | a run in numbers: what stands below, overheads, loads, links |
| `classes`, `distribution` | completion times by size class; means and percentiles |
| `entries` | the same of each traffic entry |
| `links` | the hottest links and the longest queues |
| `facts` | what happened besides: drops, timeouts, the hottest link |
| `fabric` | how large a fabric is, and how much oversubscribed |
| `packets` | packets of flows, and what was said of them |
| `stats` | percentiles, intervals, differences; each states its convention |
| `report` | the engine's report, key by key |
| `html` | small tables for notebooks |
| `plain` | measures as JSON has them |
| `tables` | the engine's columns as Arrow tables |
| `units` | numbers for people |
"""
