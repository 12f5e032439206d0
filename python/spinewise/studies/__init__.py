"""User-defined studies: a grid of schemes, parameters, loads and faults, each point repeated over seeds.

| module | what it does |
|---|---|
| `api` | `spinewise.sweep` |
| `study` | a study: its file, and its runs |
| `file` | reads STUDY.toml, and refuses wrong keys |
| `axes` | the axes |
| `metrics` | the metrics of a run, such as ``fct_s.p99 of web`` |
| `beside` | facts that metrics do not show: unfinished flows, overloads, warnings |
| `conduct` | conducts a study: rounds of seeds, failures, what is left |
| `report` | its table and its record |
"""
