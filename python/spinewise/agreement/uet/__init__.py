"""Recorded runs of uet-htsim (``cases.jsonl``), run again over seeds, and compared.

| module | what it does |
|---|---|
| `recorded` | reads the cases: their options, and the completion times of their flows |
| `setting` | the spec of a case |
| `comparison` | runs the cases, and judges each |
| `pinned` | runs those whose paths were recorded on these paths, flow by flow |
| `show` | a table for people |
"""
