"""Rendering, changing, checking, building and serving catalogs; what OLM would choose from them.

Nothing here writes to a cluster.
"""
