"""Results as files that other tools open.

| module | what it writes |
|---|---|
| `capture` | captured packets as pcapng; it makes a run once more that captured none |
| `pcapng` | the blocks of that format |
| `frames` | a packet of the model as an Ethernet frame: Ethernet, IPv4, UDP, flow control |
| `tcp`, `mptcp`, `roce` | the headers of transports in it |
| `told` | what all frames of a run have in common |
"""
