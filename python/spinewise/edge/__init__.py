"""A study of our own: today's load balancers compared with the five papers', over several transports.

| module | what it has |
|---|---|
| `setting` | fabrics, traffic and faults, and which schemes take part under which transport |
| `row` | the record of a run |
| `study` | its runs, made or found in a store |
| `evidence` | the evidence in the repository: `docs/evidence/edge-2026` |
| `numbers` | means, paired differences and ties, from the evidence |
| `findings` | its statements, each with the measured numbers that support it |
| `supports` | whether the runs confirm a statement by more than chance |

``python -m spinewise.edge`` makes the runs and writes the evidence; `spinewise.docs.edge` writes docs/edge-2026.md.
"""
