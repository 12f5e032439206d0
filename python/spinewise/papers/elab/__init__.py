"""The experiments on ELAB (Chen and Zhang, 2019)."""
