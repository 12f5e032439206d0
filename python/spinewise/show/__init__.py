"""The display in a terminal or a figure.

| module | what it does |
|---|---|
| `terminal` | the console, the look of tables |
| `run_tables` | tables of one run |
| `markdown` | tables of generated pages |
| `offered`, `simulated` | the offered load, and what is simulated, in words |
| `plot` | figures |
| `progress` | progress on standard error |
| `style` | the look of every figure: colours, markers, fonts, file formats |
| `worked_out` | values that follow from the fabric, in words |
"""
