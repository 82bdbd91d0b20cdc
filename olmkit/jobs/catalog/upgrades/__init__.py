"""What a catalog offers to clusters: what OLM would install, upgrade paths, and their checks.

Graphs are in `catalog.graph`, the resolver in `olm.resolver`.
"""
