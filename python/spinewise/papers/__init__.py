"""The experiments behind the figures of papers: what is run, what is measured, and what the papers claim.

``papers.toml`` lists the papers and their experiments; `spinewise.reproduction` runs and judges them. Each paper is a
package with a module for each figure. Nothing outside this package imports it.
"""
