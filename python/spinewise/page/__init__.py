"""The page of `spinewise report`: one HTML file that shows results, and needs no network.

| module | what it does |
|---|---|
| `model` | the contents of a page: parts, sections, tables, charts, replays, flows, steps |
| `packed` | arrays of numbers in one compressed block, with references into it |
| `charts` | panels of figures as charts of a page |
| `source` | the kinds of RESULTS, and the part of the page for each |
| `of_run`, `of_comparison`, `of_claims`, `of_study` | the parts, one module a kind |
| `study_charts` | charts of a study |
| `again` | repeated runs, with samples of links and the choices of the slowest flows |
| `replay` | links over time, to be played |
| `flows` | the paths of traced flows, and why each took so long |
| `rounds` | collective operations as steps |
| `html` | the model as HTML that can be read without JavaScript |
| `write` | the file: HTML, styles, scripts, data |
| `of_runs` | several runs as a part: their differences |
| `of_advice` | advice as a part |
| `of_resilience` | a study of faults as a part |
| `grids` | tables of the terminal as tables of a page |
| `moving` | the interactive sections |

`assets/` has the styles and scripts of the page, `vendor/` the plotting library.
"""
