"""Experiments of papers, run again and judged.

| module | what it does |
|---|---|
| `experiment` | what the module of an experiment says |
| `claims` | checks of a paper's statements |
| `shapes` | usual panels, and one thing varied at a time |
| `readings` | numbers read off a run that experiments share |
| `reproduce` | finds, runs and judges |
| `files` | what ``reproduce`` writes |
| `markdown` | tables for the pages of ``docs/`` |
"""
