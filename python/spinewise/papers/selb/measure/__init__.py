"""Measurements of the runs of the experiments on SELB; nothing here judges, draws, or defines runs.

| module | what it has |
|---|---|
| `figures` | all of them |
"""
