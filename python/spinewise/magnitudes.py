"""Units of time and rate, counted in those of the engine and of the files of other simulators: whole numbers, exact."""

PS_PER_NS = 10**3
PS_PER_US = 10**6
PS_PER_SECOND = 10**12
NS_PER_SECOND = 10**9
BITS_PER_GIGABIT = 10**9
