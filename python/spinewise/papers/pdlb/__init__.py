"""The experiments on PDLB (Gao et al., 2023)."""
