"""Results as files that other tools open.

| module | what it writes |
|---|---|
| `perfetto` | flows, rounds, series and faults as a trace for Perfetto; `tracks` its packets, `lanes` its rows |
| `graphml` | the fabric, with what its links carried |
| `htsim` | completion times as htsim prints them |
| `rows` | the rows of single flows that exports need |
| `capture` | captured packets as pcapng; it repeats a run that captured none |
| `pcapng` | the blocks of that format |
| `frames` | a packet of the model as an Ethernet frame: Ethernet, IPv4, UDP, flow control |
| `tcp`, `mptcp`, `roce` | the headers of transports in it |
| `settings` | the settings common to all frames of a run |
"""
