"""What OLM would install from a catalog, upgrade paths, and checks of upgrades.

Graphs are in `catalog.graph`, the resolver in `olm.resolver`.
"""
