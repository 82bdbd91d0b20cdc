"""Upgrade graphs: edges, upgrade paths, and drawings.

Dependencies between packages are in `olm.resolver`.
"""
