"""Files of other simulators: read into our own formats, and written for their scripts.

| file | read by | ours |
|---|---|---|
| topology | `topology.read` | ``[topology]`` of kind ``links`` |
| flow list, five or six numbers a line | `flows.read` | CSV of ``[[traffic]]`` of kind ``flows`` |
| distribution of flow sizes | `cdf.read` | the file that ``cdf_file`` names |
| GOAL schedule | `goal.read` | the table of operations of ``[[traffic]]`` of kind ``dag`` |
| flow completion times | `fct.read`, written by `fct.write` | CSV or Parquet |

`embed` lets a spec name such files directly.
"""
