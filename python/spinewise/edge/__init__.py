"""A study of our own: today's load balancers and the five papers' beside each other, over three transports.

| module | what it has |
|---|---|
| `setting` | what is built, sent and broken, and which schemes take part under which transport |
| `row` | what is kept of a run |
| `study` | the runs of it, made or found in a store |
| `evidence` | what is kept in the repository: `docs/evidence/edge-2026` |
| `numbers` | means, paired differences and ties, from the evidence |
| `findings` | what it says, each statement with the measured numbers that it rests on |

``python -m spinewise.edge`` makes the runs and writes the evidence; `spinewise.docs.edge` writes docs/edge-2026.md.
"""
