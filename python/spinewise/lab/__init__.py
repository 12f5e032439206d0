"""A spec on Linux: a leaf-spine of network namespaces, real TCP, and results as the simulator writes them.

`plan` plans it, without any privilege; `build` builds it and takes it down; `measure` carries the
spec's own flows over it; docs/real-hosts.md describes its uses.
"""
