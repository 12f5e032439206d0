"""Experiments of papers, run again and judged.

| module | what it does |
|---|---|
| `experiment` | the definition of an experiment |
| `claims` | checks of a paper's statements |
| `shapes` | usual panels, and one thing varied at a time |
| `readings` | measurements of a run that experiments share |
| `catalogue` | the list of papers' statements |
| `reproduce` | finds, runs and judges one experiment |
| `choice` | the experiments that a name means |
| `forms` | the forms that head verdicts |
| `suite` | several experiments as one sweep |
| `ahead` | the runs and the time, before the start |
| `verdicts` | the verdict on a statement, from all its checks |
| `provenance` | effort, version, engine, seeds and days of runs |
| `rows` | statements as rows of a table |
| `reasons` | why statements may not be reproduced, and where that is tested |
| `files` | the files that ``reproduce`` writes for one experiment |
| `overview` | those for several |
| `evidence` | the record of full runs, in a repository; read and judged again |
| `keeping` | writing it |
| `records` | the keys of all these files |
| `markdown` | tables for the pages of ``docs/`` |
| `cells` | comparisons, and several of them as one line of evidence |
| `measured` | the measurements taken from a run |
| `words` | the names of measurements in sentences |
"""
