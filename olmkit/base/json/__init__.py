"""Read and write JSON like Go's `encoding/json`, with positions for findings.

Typed shapes of objects are in `catalog.blobs` and `kube.builtin`.
"""
