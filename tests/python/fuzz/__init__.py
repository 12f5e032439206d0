"""Specs at random: every one is refused in words, or runs.

A spec is a function of the seed and its number, so that any finding can be made again:

    python -m fuzz --specs 20000 --seed 1       # all of them, on every core
    python -m fuzz --only 1234 --seed 1         # one of them, shown and run

| module | what it does |
|---|---|
| `values` | a value for a key: at its bounds, between them, beside them, of another type |
| `mutate` | a spec: a base, changed in a few places |
| `worker` | one process that tries specs and says what came of each |
| `pool` | many of them, each with a limit on its memory and a time after which it hangs |
"""
