"""The experiments on LBSP (2021)."""
