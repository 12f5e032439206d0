"""The experiments on MEET (Dong et al., 2022)."""
