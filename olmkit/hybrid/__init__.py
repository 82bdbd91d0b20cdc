"""Operators of a `watches.yaml`: each entry is a controller on `olmkit.runtime`.

`helm` and `ansible` are independent of each other. Their common parts are here: the form of
entries, the program, the watches of dependents, and values. `mixed` runs entries of both next to
kinds in Python. Reading and scaffolding of projects are in `olmkit.project`.
"""
