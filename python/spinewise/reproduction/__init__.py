"""Experiments of papers, run again and judged.

| module | what it does |
|---|---|
| `experiment` | what the module of an experiment says |
| `claims` | checks of a paper's statements |
| `shapes` | usual panels, and one thing varied at a time |
| `readings` | numbers read off a run that experiments share |
| `catalogue` | the list of what papers state |
| `reproduce` | finds, runs and judges one experiment |
| `choice` | which experiments a name stands for |
| `forms` | which forms head verdicts |
| `suite` | several experiments as one sweep |
| `ahead` | what it comes to before it starts |
| `verdicts` | what is said of a statement, from all its checks |
| `provenance` | effort, version, engine, seeds and days of runs |
| `rows` | statements as rows of a table |
| `reasons` | why statements may not come out, and where that is tested |
| `files` | what ``reproduce`` writes of one experiment |
| `overview` | what it writes of several |
| `evidence` | what is kept of full runs, in a repository; read and judged again |
| `keeping` | writing it |
| `records` | what the files of all these hold, key by key |
| `markdown` | tables for the pages of ``docs/`` |
"""
