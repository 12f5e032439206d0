"""Schemes side by side on the same traffic.

| module | what it does |
|---|---|
| `plan` | the runs of a comparison; `spinewise.compare` |
| `loads` | what a load is: that of each traffic entry, and their total |
| `cells` | the values kept of each run, and what follows from all |
| `verdict`, `reasons` | which scheme is best at what, how certain that is, and what else differs |
| `report` | the output of ``compare``: `answers`, `tables` of completion times, what `happened` |
| `figures` | its figures |
| `kept` | a comparison read back from its folder |
| `columns` | the columns of its tables |
| `files` | the files of ``compare --out`` |
| `measured` | the values taken from a run |
| `rounds` | tables of rounds: collective operations, requests, incasts |
| `ended` | the table of when all operations of a trace had ended |
| `side_by_side` | kept runs side by side |
"""
