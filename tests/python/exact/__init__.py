"""Exactness: the engine against recursions written from the rules, in rational numbers, to the picosecond."""
