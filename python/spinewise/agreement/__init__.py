"""Agreement with an independent simulator: its recorded cases, run again over many hash salts, and compared.

| module | what it does |
|---|---|
| `recorded` | finds and reads the cases of a folder |
| `given` | what is given for a case besides its flows: parameters, a sidecar, a topology file |
| `setting` | the parts of a spec that a case does not give: the fabric and the preset |
| `scores` | statistics of slowdowns or times, ours against theirs; pure functions of arrays |
| `terms` | the quantity compared: slowdowns of RDMA, completion times of TCP |
| `verdict` | the bounds of agreement |
| `comparison` | runs the cases and combines the results |
| `replay` | follows recorded runs event by event, flow by flow |
| `ties` | finds the order of flows that start at the same time |
| `worth` | the effect of each rule of a followed program: `python -m spinewise.agreement.worth` |
| `show` | tables for people |
| `speed` | the cost of running a recorded case |
"""
