"""Catalog servers: settings, prepared catalogs, stores, changes and deployment.

`catalog.serve` builds the responses; gRPC and HTTP are in `edges`.
"""
