"""What is read off the runs of the experiments on MEET; nothing here judges, draws, or says what is run.

| module | what it has |
|---|---|
| `figures` | Figs. 6 to 11 |
| `t_update` | what messages cost, how old views are |
"""
