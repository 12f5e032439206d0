"""Files of other simulators: read into our own formats, and written for their scripts.

| file | read by | ours |
|---|---|---|
| topology | `topology.read` | ``[topology]`` of kind ``links`` |
| links between named nodes in CSV | `named.read` | ``[topology]`` of kind ``links`` with ``names`` |
| flow list, five or six numbers a line | `flows.read` | CSV of ``[[traffic]]`` of kind ``flows`` |
| distribution of flow sizes | `cdf.read` | the file that ``cdf_file`` names |
| topology of htsim | `htsim_topo.read` | ``[topology]`` of kind ``leaf_spine`` or ``fat_tree`` |
| topology of SimAI | `simai_topology.read` | ``[topology]``, and the servers of ranks |
| connection matrix of htsim | `htsim_cm.read` | flows, or with triggers a table of operations |
| workload of SimAI | `simai_workload.read` | the table of operations of ``[[traffic]]`` of kind ``dag`` |
| flow records in CSV or Parquet | `records.read` | CSV |
| Chakra traces | `chakra.read` | the table of operations |
| GOAL schedule | `goal.read` | the table of operations of ``[[traffic]]`` of kind ``dag`` |
| flow completion times | `fct.read`, written by `fct.write` | CSV or Parquet |

`embed` lets a spec name such files directly. The readers share these:

| module | what it does |
|---|---|
| `text` | lines of numbers, and errors that name file and line |
| `looks` | which format a file has that was given to another reader |
| `clos` | recognises a leaf-spine or a fat-tree in a list of links |
| `graph` | shortest paths over a fabric |
| `ids` | the ids that nodes have in the file of a topology |
| `placing` | which host a name in flow records is |
| `dag` | the table of operations |
| `collectives` | collective operations as sends and receives |
| `chakra_nodes` | the nodes of a Chakra trace |
"""
