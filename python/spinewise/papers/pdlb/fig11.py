"""PDLB Figs. 11a-d: web search on 256 hosts with one slow path, schemes over load."""

from __future__ import annotations

from spinewise.papers.pdlb import large

EXPERIMENT = large.experiment(
    number="11",
    workload="web_search",
    title="PDLB Fig. 11: web search with one slow path",
    tail=("C0-23", 0.08, 0.59),
)
