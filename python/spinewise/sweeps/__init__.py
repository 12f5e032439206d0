"""Sweeps that keep their runs: many runs, measured when they end, each stored under a key of its inputs.

| module | what it does |
|---|---|
| `sweep` | runs what a store lacks, and reads back what it has |
| `forecast` | how long runs will take |
| `sequential` | how many repeats a mean needs |
| `task` | a wanted run: its resolved spec, its measures, its place |
| `measures` | measures of a run, and the digest of their code |
| `basics` | the measurements of every stored run: completion times, facts, links |
| `sources` | the source files of that code |
| `store` | the ledger of runs and measurements, one SQLite file in a folder |
| `unmeasured` | the errors of code that could not read a run |
| `outdated` | the places that a study no longer has |
| `tables` | its tables, and the meaning of SQLite's errors for a user |
| `engine` | the interface of engines: plain data in, plain data out |
| `local` | the engine of this machine: threads |
| `query` | SQL queries on a store: DuckDB over its views |
| `columns` | the views and their columns, with unit and meaning |
| `views` | the views, read from the ledger |
| `variant` | the variant of a run in words |
| `exported` | the views as Parquet files, so that a query reads each run from the ledger once |
| `verdicts` | the verdicts on the claims of papers, kept with the runs |
| `ray` | the engine of many machines: tasks of Ray |
| `carried` | work as bytes, with the code that workers may lack |
| `packed` | measurements as bytes |
| `flow_tables` | tables of flows in the store |
"""
