"""What is read off the runs of the experiments on SELB; nothing here judges, draws, or says what is run.

| module | what it has |
|---|---|
| `figures` | all of them |
"""
