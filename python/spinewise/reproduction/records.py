"""The keys of reproduce.json, reproductions.json and evidence.json."""

from __future__ import annotations

from typing import NotRequired, TypedDict


class ProvenanceRecord(TypedDict):
    """The provenance of numbers."""

    effort: str
    versions: list[str]
    engine: str
    seeds: list[int]
    days: list[str]
    runs: int
    lacking: int
    earlier: NotRequired[list[str]]


class TimelineRecord(TypedDict):
    """A line over time."""

    time_s: list[float]
    value: list[float]


class MeasurementRecord(TypedDict):
    """The numbers of a run; null is not a number."""

    variant: str
    curve: str
    x: float
    seed: int
    outcome_hash: str
    unfinished: int
    overloaded: bool
    flows: NotRequired[int]
    values: dict[str, float | TimelineRecord | None]


class ClaimRecord(TypedDict):
    """A check with its verdict; without one while its runs are incomplete."""

    id: str
    reading: str
    headline: bool
    figure: str
    statement: str
    verdict: str
    status: str | None
    comparisons: int
    evidence: list[str]


class ReproduceRecord(TypedDict):
    """The parts of reproduce.json that are read."""

    id: str
    title: str
    effort: str
    provenance: NotRequired[ProvenanceRecord | None]
    lacking: dict[str, int]
    errors: dict[str, str]
    claims: list[ClaimRecord]
    measurements: list[MeasurementRecord]


class ExperimentRecord(TypedDict):
    """An experiment of several."""

    id: str


class ReproductionsRecord(TypedDict):
    """The parts of reproductions.json that are read."""

    experiments: NotRequired[list[ExperimentRecord]]


class CheckRecord(TypedDict):
    """A check of kept evidence, with its verdict."""

    claim: str
    reading: str
    headline: bool
    figure: str
    statement: str
    status: str
    comparisons: int
    evidence: list[str]


class EvidenceRecord(TypedDict):
    """evidence.json."""

    id: str
    paper: str
    title: str
    provenance: ProvenanceRecord
    checks: list[CheckRecord]
