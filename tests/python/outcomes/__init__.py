"""Outcome hashes of a fixed grid of specs: what a change of the engine must not change unless it means to."""
