"""Which load balancer a fabric should run, and why: one answer from many runs.

| module | what it does |
|---|---|
| `api` | `spinewise.advise`: the whole course |
| `aims` | the aim in plain words, and its value in a run |
| `observed` | the values taken from each run, unfinished flows included |
| `candidates` | the schemes that fit, what each changes, why others are not tried |
| `race` | the statistics: which schemes are surely worse, which are tied |
| `forecast` | what a budget can achieve, by the pilot |
| `planned` | messages about that, or about a budget that is too short |
| `trials` | the runs, made through a sweep |
| `conduct` | pilot, plan, race, tuning and tests, against the clock |
| `tune` | the few parameters worth trying |
| `stress` | conditions changed to break the answer, and the regret |
| `regretted` | the regrets in these conditions, and where the answer would be wrong |
| `choice` | among tied schemes, the cheapest to deploy |
| `why` | sentences with the numbers of the runs, and their check |
| `effects` | the effect of the answer on other traffic |
| `extremes` | seeds that are far worse than the mean |
| `overload` | where more is offered than links can carry, and by which entries |
| `setups` | the differences between variants besides their scheme |
| `gear` | how to enable it on real equipment; gear.toml |
| `answer` | the advice as data |
| `compose` | assembles the advice |
| `show`, `cases`, `files` | one screen; its lines about other conditions; advice.json and advice.md |
| `tried` | every scheme that was tried, in a table: how it ended, values, differences, seeds |
| `trades` | trade-offs between several aims |
| `wording` | values, differences and names in words |
"""

BUDGET_S = 300.0
"""The default wall seconds that advice may take."""
