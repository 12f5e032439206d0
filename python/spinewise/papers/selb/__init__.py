"""The experiments on SELB (Hu et al., not before 2024)."""
