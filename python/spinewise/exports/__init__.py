"""Results as files that other tools open.

| module | what it writes |
|---|---|
| `perfetto` | flows, rounds, series and faults as a trace for Perfetto; `tracks` its packets, `lanes` its rows |
| `graphml` | the fabric, with what its links carried |
| `htsim` | completion times as htsim prints them |
| `rows` | what exports of single flows need of a run |
| `capture` | captured packets as pcapng; it makes a run once more that captured none |
| `pcapng` | the blocks of that format |
| `frames` | a packet of the model as an Ethernet frame: Ethernet, IPv4, UDP, flow control |
| `tcp`, `mptcp`, `roce` | the headers of transports in it |
| `told` | what all frames of a run have in common |
"""
