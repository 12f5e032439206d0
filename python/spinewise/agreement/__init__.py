"""Agreement with an independent simulator: its recorded cases, run again over many hash salts, and compared.

| module | what it does |
|---|---|
| `recorded` | finds and reads the cases of a folder |
| `given` | what is said of a case besides its flows: parameters, a sidecar, a topology file |
| `setting` | what of a spec a case does not say: the fabric and the preset |
| `scores` | statistics of slowdowns or times, ours against theirs; pure functions of arrays |
| `terms` | what of a case is compared: slowdowns of RDMA, completion times of TCP |
| `verdict` | the bounds of agreement |
| `comparison` | runs the cases and brings it all together |
| `replay` | follows recorded runs event by event, flow by flow |
| `ties` | finds the order of flows that start at once |
| `worth` | what each rule of a followed program is worth: `python -m spinewise.agreement.worth` |
| `show` | tables for people |
"""
