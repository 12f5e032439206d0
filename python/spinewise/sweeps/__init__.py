"""Sweeps that keep what they did: many runs, measured as they end, each stored under what it was made from.

| module | what it does |
|---|---|
| `sweep` | runs what a store lacks, and reads back what it has |
| `forecast` | how long runs will take |
| `sequential` | how many repeats a mean needs |
| `task` | a run that is wanted: its resolved spec, what to measure, where it belongs |
| `measures` | what is read off a run, and the digest of the code that reads it |
| `basics` | what every stored run has: completion times, facts, links |
| `sources` | which source files that code is |
| `store` | the ledger of runs and measurements, one SQLite file in a folder |
| `unmeasured` | the errors of code that could not read a run |
| `outdated` | the places that a study no longer has |
| `tables` | its tables, and what SQLite's errors mean for a user |
| `engine` | the contract of what makes runs: plain data in, plain data out |
| `local` | the engine of this machine: threads |
| `query` | a store asked by SQL: DuckDB over its views |
| `columns` | the views and their columns, with unit and meaning |
| `views` | the views, read from the ledger |
| `variant` | the variant of a run in words |
| `exported` | the views as Parquet files, so that a query reads each run from the ledger once |
| `verdicts` | what became of the claims of papers, kept with the runs |
| `ray` | the engine of many machines: tasks of Ray |
| `carried` | work as bytes, with the code that workers may lack |
| `packed` | measurements as bytes |
"""
