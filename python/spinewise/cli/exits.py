"""Exit codes of the ``spinewise`` command besides 0, and 1 for a defect."""

FAILED = 1
BAD_INPUT = 2
LEFT = 3
"""A budget ended before all runs were made."""
INTERRUPTED = 130
TERMINATED = 143
