"""The names of schemes and transports in the figures of the experiments on ELAB."""

from __future__ import annotations

MAIN, DCTCP, RACK, TOLERANT = "ECN-TCP", "DCTCP", "ECN-TCP, RACK-TLP", "ECN-TCP, reordering ignored"
ELAB, HIDDEN, MASKED, CLOVE, SLOW, FLOWLETS, HERMES, ORACLE = (
    "ELAB",
    "ELAB hidden",
    "ELAB all-marked",
    "CLOVE",
    "CLOVE 4ms",
    "CLOVE flowlets",
    "Hermes",
    "proportional",
)
