"""Serve catalogs over gRPC, query a served one, and cache the served data in a file.

`catalog.serve` builds the responses.
"""
