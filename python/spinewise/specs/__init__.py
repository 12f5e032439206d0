"""Specs of runs, and the variants of one.

| module | what it does |
|---|---|
| `spec` | spec files and overrides become a plain dict; the engine resolves it |
| `lines` | the line of a key in a file |
| `beside` | checks of [compare] and [bounds] |
| `faults` | its [[fault]] tables |
| `variants` | schemes with parameters, as written in ``--schemes`` |
| `carriers` | the transports of a spec: of the run, and of traffic entries |
| `kinds` | the keys that belong to one kind of transport |
| `schemes` | `spinewise.schemes()` |
| `hints` | hints for refusals where another command helps |
"""
