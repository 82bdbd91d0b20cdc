"""Upgrade graphs: which bundle can follow which, where upgrades lead, how a graph is drawn.

Dependencies between packages are in `olm.resolver`.
"""
