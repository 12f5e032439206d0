"""Schemes of one's own, written in Python.

``scheme.py`` is what such a class derives from, ``params.py`` how it declares parameters, ``contract.py``
what the engine is told of it, ``load.py`` reads one from a file. ``digest.py`` says which code it is, ``texts.py``
which files belong to it, ``held.py`` what a run left changed in it,
and ``copies.py`` keeps those files beside results.
"""
