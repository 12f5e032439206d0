"""The experiments behind the figures of papers: the runs, the measurements, and the papers' claims.

| module | what it has |
|---|---|
| `papers.toml` | the papers, and the module of each experiment |
| `elab` | ELAB (Chen and Zhang, 2019) |
| `lbsp` | LBSP (2021) |
| `meet` | MEET (Dong et al., 2022) |
| `pdlb` | PDLB (Gao et al., 2023) |
| `selb` | SELB (Hu et al., not before 2024) |

`spinewise.reproduction` runs and judges them, and finds them by name: nothing outside this package imports it. In each
paper, ``measure`` has the measurements of runs, separate from runs, figures and verdicts.
"""
