"""The boundary: only this package accesses disk, processes, HTTP, registries and clusters.

It makes no decisions, and no third-party exception leaves it.
"""
