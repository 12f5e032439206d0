"""Tables for reading, from the output of `spinewise reproduce`.

`python -m spinewise.papers.pdlb.tables DIR...` prints them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from spinewise.reproduction.experiment import Measured
from spinewise.reproduction.markdown import against, names, place, plain, print_tables, rows, rows_against, table

# Flowcells whose position on the axis of pdlb-7-granularity is rounded.
SIZES = {5.5: 44}

# The schemes that Figs. 11 and 12 compare.
COMPARED = {
    "short, mean": "short_mean_fct_s",
    "short, p99": "short_p99_fct_s",
    "long, mean": "long_mean_fct_s",
    "all, mean": "mean_fct_s",
}


def curves_by_x(measured: Measured, metrics: Sequence[tuple[str, str, float]]) -> str:
    """One row per curve and x, one column per metric."""
    rows = [
        [curve, f"{x:g}", *(plain(measured, curve, x, metric, scale) for _, metric, scale in metrics)]
        for x in measured.xs
        for curve in measured.curves
    ]
    return table(["scheme", "x", *(head for head, _, _ in metrics)], rows)


def fig07(measured: Measured) -> str:
    """Fig. 7 in numbers, and against Presto."""
    metrics = (
        ("out of order, %", "out_of_order", 100.0),
        ("3-dupACK, %", "dupack3", 100.0),
        ("resent, %", "retransmits", 100.0),
        ("utilisation, %", "utilisation", 100.0),
        ("payload, %", "goodput_share", 100.0),
        ("mean FCT, µs", "mean_fct_s", 1e6),
        ("PDLB's cell", "granularity", 1.0),
    )
    return curves_by_x(measured, metrics) + "\n" + variations07(measured)


def variations07(measured: Measured) -> str:
    """Mean completion time against Presto's, percent, by variant."""
    rows = []
    for name in names(measured):
        part = measured.within(name)
        others = [curve for curve in part.curves if curve not in ("Presto",)]
        for x in part.xs:
            changes = [against(part, curve, "Presto", x, "mean_fct_s") for curve in others]
            base, cell = plain(part, "Presto", x, "mean_fct_s", 1e6), plain(part, "PDLB", x, "granularity", 1.0)
            rows.append([name or "default", f"{x:g}", base, *changes, cell])
    heads = ["variation", "hot", "Presto, µs", *(f"{curve}, %" for curve in others), "PDLB's cell"]
    return table(heads, rows)


def bound(measured: Measured) -> str:
    """Completion time by flowcell size."""
    rows = []
    for name in names(measured):
        part = measured.within(name)
        for curve in part.curves:
            times = [plain(part, curve, x, "mean_fct_s", 1e6) for x in part.xs]
            rows.append([name, curve, *times])
    return table(["transport", "", *(f"{SIZES.get(x, 2**x):.0f}" for x in measured.xs)], rows)


def fig08(measured: Measured) -> str:
    """Figs. 8 and 9 in numbers."""
    metrics = (
        ("short resent, %", "short_retransmits", 100.0),
        ("short mean, µs", "short_mean_fct_s", 1e6),
        ("short p99, µs", "short_p99_fct_s", 1e6),
        ("long resent, %", "long_retransmits", 100.0),
        ("long, Gbps", "long_throughput_gbps", 1.0),
    )
    return "\n".join(f"{name}:\n\n" + curves_by_x(measured.within(name), metrics) for name in names(measured))


def fig10(measured: Measured) -> str:
    """Fig. 10 before, in and after the window."""
    metrics = (
        *((f"cell {part}", f"granularity {part}", 1.0) for part in ("before", "inside", "after")),
        *((f"3-dupACK {part}, %", f"dupack3 {part}", 100.0) for part in ("before", "inside")),
        ("utilisation inside, %", "utilisation inside", 100.0),
        ("TCP inside, %", "tcp_share inside", 100.0),
        ("TCP while active, %", "tcp_share active", 100.0),
    )
    rows = [
        [name, curve, *(plain(part, curve, 0.0, metric, scale) for _, metric, scale in metrics)]
        for name in names(measured)
        for part in [measured.within(name)]
        for curve in part.curves
    ]
    return table(["variation", "scheme", *(head for head, _, _ in metrics)], rows)


def fig03(measured: Measured) -> str:
    """Figs. 3 and 4 in numbers."""
    metrics = (
        ("mean FCT, ms", "mean_fct_s", 1e3),
        ("slowest, ms", "p99_fct_s", 1e3),
        ("3-dupACK, %", "dupack3", 100.0),
        ("out of order, %", "out_of_order", 100.0),
        ("resent, %", "resent", 100.0),
        ("utilisation, %", "utilisation", 100.0),
        ("payload, %", "payload", 100.0),
    )
    return rows(measured, metrics)


def fig06(measured: Measured) -> str:
    """Fig. 6: simulated, and each model's values; milliseconds."""
    models = [name for name in measured.measurements[0].values if name.startswith("Eq. 9")]
    return rows(measured, [("simulated", "mean_fct_s", 1e3), *((name, name, 1e3) for name in models)])


def large(measured: Measured) -> str:
    """Figs. 11 and 12 in numbers, and PDLB against all others."""
    metrics = (
        ("short mean, µs", "short_mean_fct_s", 1e6),
        ("short p99, µs", "short_p99_fct_s", 1e6),
        ("long mean, ms", "long_mean_fct_s", 1e3),
        ("all mean, ms", "mean_fct_s", 1e3),
        ("long resent, %", "long_resent", 100.0),
        ("out of order, %", "out_of_order", 100.0),
        ("flows", "flows", 1.0),
        ("short", "short_flows", 1.0),
        ("offered to the worst leaf, %", "offered", 100.0),
    )
    bases = [base for base in ("PDLB", "ECMP") if base in measured.curves]
    compared = tuple(COMPARED.values())
    return "\n".join(
        [rows(measured, metrics), of_pdlb(measured), *(rows_against(measured, base, compared) for base in bases)]
    )


def of_pdlb(measured: Measured) -> str:
    """PDLB against each other scheme, in percent of the latter."""
    others = measured.others("PDLB")
    found = [
        [name, head, place(part, x), *(against(part, "PDLB", other, x, metric) for other in part.others("PDLB"))]
        for name in names(measured)
        for part in [measured.within(name)]
        if len(part.curves) > len(others)
        for head, metric in COMPARED.items()
        for x in part.xs
    ]
    return table(["", "", "load", *(f"PDLB against {other}, %" for other in others)], found)


TABLES: dict[str, Callable[[Measured], str]] = {
    "pdlb-3": fig03,
    "pdlb-6": fig06,
    "pdlb-7": fig07,
    "pdlb-7-variations": variations07,
    "pdlb-7-granularity": bound,
    "pdlb-8": fig08,
    "pdlb-10": fig10,
    "pdlb-11": large,
    "pdlb-12": large,
    "pdlb-10-variations": fig10,
}


if __name__ == "__main__":
    print_tables(sys.argv[1:], lambda name, measured: TABLES[name](measured))
