"""Serving catalogs over gRPC, asking a served one, and the cache file that is served from.

The answers are made in `catalog.serve`.
"""
