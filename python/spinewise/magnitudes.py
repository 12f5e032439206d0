"""Units of time and rate, counted in those of the engine and of the files of other simulators: whole numbers, exact."""

PS_PER_NS = 10**3
PS_PER_US = 10**6
PS_PER_SECOND = 10**12
NS_PER_SECOND = 10**9
BITS_PER_BYTE = 8
BITS_PER_GIGABIT = 10**9


def serialisation_ps(size_bytes: int, rate_bps: int) -> int:
    """How long these bytes take on a link of this rate, ps, rounded down; 0 on a link without a rate."""
    return size_bytes * BITS_PER_BYTE * PS_PER_SECOND // rate_bps if rate_bps else 0
