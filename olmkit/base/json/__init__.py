"""JSON text, read and written as Go's `encoding/json` does, with positions for findings.

Typed shapes of objects are in `catalog.blobs` and `kube.builtin`.
"""
