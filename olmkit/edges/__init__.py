"""The border: disk, processes, HTTP, registries and clusters are touched here and nowhere else.

Decisions are not made here; no third-party exception leaves this package.
"""
