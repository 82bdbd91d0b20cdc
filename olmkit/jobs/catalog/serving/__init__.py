"""Catalog servers: their settings, prepared catalogs, stores and changes, and their deployment.

What they answer is in `catalog.serve`, the gRPC and HTTP sides in `edges`.
"""
