"""OLM's dependency resolution, offline: candidates, requirements, search, reasons.

Upgrade graphs of individual packages are in `catalog.graph`.
"""
