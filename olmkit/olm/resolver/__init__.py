"""OLM's dependency resolution, offline: candidates, requirements, search, reasons.

Upgrade graphs of single packages are in `catalog.graph`.
"""
