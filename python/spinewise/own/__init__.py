"""User-defined schemes, written in Python.

``scheme.py`` is what such a class derives from, ``params.py`` how it declares parameters, ``contract.py``
what the engine is given for it, ``load.py`` reads one from a file. ``digest.py`` identifies its code, ``texts.py``
finds the files that belong to it, ``held.py`` what a run left changed in it,
and ``copies.py`` keeps those files beside results.
"""
