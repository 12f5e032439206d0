"""Which load balancer a fabric should run, and why: one answer from many runs.

| module | what it does |
|---|---|
| `api` | `spinewise.advise`: the whole course |
| `aims` | what is asked for, as people write it, and its value in a run |
| `observed` | what is read off each run, unfinished flows included |
| `candidates` | which schemes fit, what each changes, why others are not tried |
| `race` | the statistics: who is surely worse, who is tied |
| `forecast` | what a budget can reach, by the pilot |
| `planned` | what is said of that, or of a budget that is too short |
| `trials` | the runs, made through a sweep |
| `conduct` | pilot, plan, race, tuning and tests, against the clock |
| `tune` | the few parameters worth trying |
| `stress` | what is changed to break the answer, and the regret |
| `choice` | within what is tied, the cheapest to deploy |
| `why` | sentences with the numbers of the runs, and their check |
| `effects` | what the answer does to other traffic |
| `extremes` | seeds that are far worse than the mean |
| `overload` | where more is offered than links can carry, and by whom |
| `setups` | what variants differ in besides their scheme |
| `simulated` | fabric, transport and traffic in words |
| `gear` | how to turn it on in real gear; gear.toml |
| `answer` | the advice as data |
| `compose` | the advice put together |
| `show`, `files` | one screen; advice.json and advice.md |
"""

BUDGET_S = 300.0
"""Wall seconds that an advice may take unless somebody says otherwise."""
