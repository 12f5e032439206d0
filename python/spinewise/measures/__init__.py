"""The results of a run, as pure functions of its tables and report.

| module | what it does |
|---|---|
| `summary` | a run in numbers: the measures below, overheads, loads, links |
| `classes`, `distribution` | completion times by size class; means and percentiles |
| `entries` | the same for each traffic entry |
| `links` | the hottest links and the longest queues |
| `facts` | other events: drops, timeouts, the hottest link |
| `fabric` | the size of a fabric, and its oversubscription |
| `packets` | packets of flows, and their events |
| `stats` | percentiles, intervals, differences; each states its convention |
| `report` | the engine's report, key by key |
| `html` | small tables for notebooks |
| `plain` | measures as JSON has them |
| `tables` | the engine's columns as Arrow tables |
| `units` | numbers for people |
| `waits` | completion times in which a flow that never finished counts with the time it waited |
| `collectives` | the time of each round, its use of the links, the reasons for delays |
| `stragglers` | the flow for which a round waited |
| `least` | the least time of a round, whatever paths packets take |
| `curves` | distributions over all flows and over flow sizes |
| `nodes` | the names of nodes and the kinds of links |
| `notices` | all warnings about a run |
| `afterwards` | those that only a finished run can give |
| `overlap` | those about traffic that ends while other traffic goes on |
"""
