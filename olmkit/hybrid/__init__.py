"""Operators of a `watches.yaml`: each entry is a controller on `olmkit.runtime` that runs Helm.

`watches`, `durations`, `releases`, `status`, `drift`: from values to values. `failures` remembers,
`helm_reconciler` acts through the cluster and `olmkit.edges.helm`, `helm_operator` builds the
controllers, `process` is the program. Reading and scaffolding of projects are in `olmkit.project`.
"""
