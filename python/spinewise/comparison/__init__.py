"""Schemes side by side on the same traffic.

| module | what it does |
|---|---|
| `plan` | which runs a comparison consists of; `spinewise.compare` |
| `cells` | what it keeps of each run, and what follows from all |
| `tables` | what ``compare`` prints |
| `figures` | its figures |
| `kept` | a comparison read back from its folder |
| `files` | what ``compare --out`` writes |
"""
