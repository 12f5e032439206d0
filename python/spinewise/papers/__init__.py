"""The experiments behind the figures of papers: what is run, what is measured, and what the papers claim.

| module | what it has |
|---|---|
| `papers.toml` | the papers, and the module of each experiment |
| `elab` | ELAB (Chen and Zhang, 2019) |
| `lbsp` | LBSP (2021) |
| `meet` | MEET (Dong et al., 2022) |
| `pdlb` | PDLB (Gao et al., 2023) |
| `selb` | SELB (Hu et al., not before 2024) |

`spinewise.reproduction` runs and judges them, and finds them by name: nothing outside this package imports it. In each
paper ``measure`` is what is read off a run, apart from what is run, drawn and judged.
"""
