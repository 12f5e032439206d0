"""Schemes side by side on the same traffic.

| module | what it does |
|---|---|
| `plan` | which runs a comparison consists of; `spinewise.compare` |
| `cells` | what it keeps of each run, and what follows from all |
| `verdict`, `reasons` | which scheme is best at what, how surely, and what else differs |
| `report` | all that ``compare`` prints: `answers`, `tables` of completion times, what `happened` |
| `figures` | its figures |
| `kept` | a comparison read back from its folder |
| `columns` | the columns of its tables |
| `files` | what ``compare --out`` writes |
"""
