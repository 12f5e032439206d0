"""Measurements of the runs of the experiments on MEET; nothing here judges, draws, or defines runs.

| module | what it has |
|---|---|
| `figures` | Figs. 6 to 11 |
| `t_update` | the cost of messages, the age of views |
"""
