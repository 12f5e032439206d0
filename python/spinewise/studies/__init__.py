"""Users' own studies: a grid of schemes, parameters, loads and faults, each point repeated over seeds.

| module | what it does |
|---|---|
| `api` | `spinewise.sweep` |
| `study` | a study: what is in its file, and which runs it comes to |
| `file` | STUDY.toml read, and refused by its keys |
| `axes` | what is varied |
| `metrics` | what is asked of a run, such as ``fct_s.p99 of web`` |
| `beside` | what metrics do not say: unfinished flows, overloads, warnings |
| `conduct` | a study conducted: rounds of seeds, failures, what is left |
| `report` | its table and its record |
"""
