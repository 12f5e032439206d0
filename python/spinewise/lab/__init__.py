"""A spec on Linux: a leaf-spine of network namespaces, real TCP, and results as the simulator writes them.

| module | what it does |
|---|---|
| `fit` | what a lab can build and what it cannot, before anything is touched |
| `scale` | spec and lab at one scale: slower rates, longer times |
| `plan` | namespaces, cables, addresses and queues, from a spec alone: needs no privilege |
| `checked` | the plan, if the lab can do the faults and series of the spec, too |
| `commands` | the plan as commands for iproute2 and values below /proc/sys/net |
| `breaking` | faults of the spec as commands at their times |
| `machine` | what this machine lacks for a lab |
| `build`, `state` | builds a lab and takes it down; the labs that exist, below /run/spinewise |
| `drawn` | the flows of the spec as the simulator draws them, and its own run of them: the prediction |
| `carry`, `traffic` | the processes that carry the flows; what runs in each |
| `sampler`, `watch` | queues and counts of every port from the kernel; the same over time |
| `steer` | agents at the hosts: configuration, start and stop |
| `measure` | a run of a lab: Linux and the simulator carry the same flows |
| `outcome` | the results of Linux, in the tables of the simulator's results |
| `sensed` | the reports of agents: series, counters, events |
| `sight`, `seen` | what schemes believe of each path, and its true state; the same for one run |
| `study` | schemes on Linux compared with the simulator's |
| `holes`, `cost` | what a black hole costs; what an agent costs |
| `show`, `figures` | tables for people; figures |

docs/real-hosts.md describes its uses.
"""
