"""Exit codes of the ``spinewise`` command besides 0 and 1."""

BAD_INPUT = 2
INTERRUPTED = 130
TERMINATED = 143
