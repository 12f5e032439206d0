"""Measurements of any run of LBSP's figures: completion times, the fate of packets, and the flows of each pair."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from spinewise.measures import stats
from spinewise.measures.tables import numbers
from spinewise.papers.lbsp.tree import LARGE, SMALL, Tree
from spinewise.runs.result import Result

Mask = NDArray[np.bool_]

# A link up between switches, by its name.
UPLINK = re.compile(r"(leaf|aggregation)(\d+)->(aggregation|core)(\d+)")


def tree_of(result: Result) -> Tree:
    """The tree that a run was made in."""
    return {tree.k: tree for tree in (SMALL, LARGE)}[result.spec["topology"]["k"]]


def flows_of(result: Result) -> dict[str, Mask]:
    """The flows of each pair of Fig. 3, as masks."""
    tree = tree_of(result)
    source = numbers(result.flows, "src")
    s2, s3 = tree.leaf * tree.half, tree.host(tree.k // 2, 0, 0)
    shared = result.spec["traffic"][0]["list"][0]["src"]
    return {"S1": source == shared, "S2": source == s2, "S3": source == s3}


def packets(result: Result) -> dict[str, float]:
    """Packets sent again and out of order, as shares of those sent; timeouts, and drops at queues."""
    sent = float(numbers(result.flows, "packets").sum(dtype=np.int64))
    shares = {"resent": "retransmits", "out_of_order": "out_of_order"}
    found = {key: float(numbers(result.flows, name).sum(dtype=np.int64)) / sent for key, name in shares.items()}
    return found | {
        "timeouts": float(numbers(result.flows, "timeouts").sum(dtype=np.int64)),
        "drops": float(sum(link["drops"] for link in result.report["links"])),
    }


def completion(result: Result, inside: Mask | None = None) -> dict[str, float]:
    """Mean and 99.9th percentile of completion times in s; with fewer than 1,000 flows the latter is the slowest."""
    done = numbers(result.flows, "finished").astype(bool)
    fct = numbers(result.flows, "fct_ps")[done if inside is None else done & inside].astype(float) / 1e12
    return {"mean_s": stats.mean(fct), "p999_s": stats.percentile(fct, 0.999)}
